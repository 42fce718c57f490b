// Processor time that the connectors take for a pass and for a cookie, without I/O, and for the signature alone, which is
// OpenSSL's in both languages: node bench.mjs. It asserts nothing.
import { execFileSync } from 'node:child_process';
import { verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openCookie, readKeys, verifyPass } from '../node/index.js';

const vectors = JSON.parse(readFileSync(new URL('../vectors.json', import.meta.url)));
const { sale, issuer, now, cookie_secret: secret } = vectors;
const keys = readKeys(vectors.keys);
const [{ pass }] = vectors.passes;
const [{ cookie }] = vectors.cookies;
const ROUNDS = 15;
const CALLS = 400;

// The best of some rounds: other programs use the machine too.
function microseconds(call) {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const began = process.cpuUsage();
    for (let i = 0; i < CALLS; i += 1) call();
    const { user, system } = process.cpuUsage(began);
    return (user + system) / CALLS;
  });
  return Math.min(...rounds);
}

const [header, claims, signature] = pass.split('.');
const signed = Buffer.from(`${header}.${claims}`);
const print = (name, of, figure) => console.log(`${name.padEnd(7)} ${of.padEnd(10)} ${figure.toFixed(1).padStart(6)} µs`);
const bytes = Buffer.from(signature, 'base64url');
print('node', 'signature', microseconds(() => verify(null, signed, keys.get('test-1'), bytes)));
print('node', 'pass', microseconds(() => verifyPass(pass, { keys, sale, issuer, now })));
print('node', 'cookie', microseconds(() => openCookie(cookie, { secret, sale, now })));

const python = `
import base64, json, sys, time, timeit
from seckill_connector import open_cookie, read_keys, verify_pass
v = json.load(open(sys.argv[1]))
keys = read_keys(v["keys"])
header, claims, signature = v["passes"][0]["pass"].split(".")
signed, signature = f"{header}.{claims}".encode(), base64.urlsafe_b64decode(signature + "==")
calls = {
    "signature": lambda: keys["test-1"].verify(signature, signed),
    "pass": lambda: verify_pass(v["passes"][0]["pass"], keys=keys, sale=v["sale"], issuer=v["issuer"], now=v["now"]),
    "cookie": lambda: open_cookie(v["cookies"][0]["cookie"], secret=v["cookie_secret"], sale=v["sale"], now=v["now"]),
}
for name, call in calls.items():
    print(name, min(timeit.repeat(call, number=${CALLS}, repeat=${ROUNDS}, timer=time.process_time)) / ${CALLS} * 1e6)
`;
const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const env = { ...process.env, PYTHONPATH: path('../python'), PYTHONDONTWRITEBYTECODE: '1' };
const printed = execFileSync(process.env.CONNECTORS_PYTHON ?? 'python3', ['-c', python, path('../vectors.json')], { env });
for (const line of printed.toString().trim().split('\n')) {
  const [name, figure] = line.split(' ');
  print('python', name, Number(figure));
}
