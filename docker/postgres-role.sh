#!/bin/bash
# Runs once, when the database is created. Makes the program's role, which owns its database and is not a superuser.
set -euo pipefail

psql -v ON_ERROR_STOP=1 -v password="$(cat /run/secrets/postgres_password)" -U "$POSTGRES_USER" -d postgres <<'END'
CREATE ROLE seckill LOGIN PASSWORD :'password';
CREATE DATABASE seckill OWNER seckill;
REVOKE ALL ON DATABASE seckill FROM PUBLIC;
END
