# shellcheck shell=bash
# nginx as the CDN in front of the program. The site is docker/nginx.conf.template; this file adds the main
# configuration.

nginx_start() {
    local home
    home=$(home_of nginx)
    mkdir -p "$home"/{cache,temp}
    rm -f "$home/nginx.pid"
    nginx_site >"$home/site.conf"
    nginx_main >"$home/nginx.conf"
    launch nginx "$home" nginx -e stderr -p "$home" -c nginx.conf -g 'daemon off;'
}

nginx_site() {
    local site
    site=$(<"$REPO/docker/nginx.conf.template")
    site=${site//"\${SECKILL_NGINX_LISTEN}"/"127.0.0.1:${PORT[nginx]}"}
    site=${site//"\${SECKILL_NGINX_UPSTREAM}"/"server 127.0.0.1:${PORT[shop]} max_fails=0;"}
    site=${site//"\${SECKILL_NGINX_TRUSTED}"/"set_real_ip_from 127.0.0.1;"}
    site=${site//"\${SECKILL_NGINX_PAGES}"/"$STACK/data/pages"}
    site=${site//"\${SECKILL_NGINX_LOG}"/"$STACK/log/nginx-access.log"}
    site=${site//"\${SECKILL_NGINX_CACHE}"/"$(home_of nginx)/cache"}
    printf '%s\n' "$site"
}

# Workers run as the user of the stack, because they read the pages that the program writes as that user.
nginx_main() {
    ((EUID != 0)) || echo 'user root;'
    cat <<'END'
worker_processes auto;
pid nginx.pid;
events { worker_connections 16384; }
http {
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    sendfile on;
    keepalive_requests 100000;
    client_body_temp_path temp/body;
    proxy_temp_path temp/proxy;
    fastcgi_temp_path temp/fastcgi;
    uwsgi_temp_path temp/uwsgi;
    scgi_temp_path temp/scgi;
    access_log off;
    include site.conf;
}
END
}

# nginx writes the pid file once it has bound the port. An open port alone could belong to another process.
nginx_ready() {
    local home
    home=$(home_of nginx)
    [[ -s $home/nginx.pid && $(<"$home/nginx.pid") == "$(pid_of nginx)" ]] && connects "${PORT[nginx]}"
}

nginx_stop() { end nginx TERM; }
