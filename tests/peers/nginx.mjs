/*
 * nginx.mjs - the client of the TypeScript SDK 2.x, through nginx, to our server
 *
 *     node nginx.mjs legacy|modern BIN
 *
 * A cancel must pass through the proxy, and a quiet stream must survive it: nginx gives up a
 * response after two seconds of silence here, and the server says something every half.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assert, finish, prove, until } from './cases.mjs';
import { serve } from './reach.mjs';
import { open } from './sdk_v2.mjs';

const [era, bin] = process.argv.slice(2);

const freePort = () => new Promise(resolve => {
    const socket = createServer();

    socket.listen(0, '127.0.0.1', () => {
        const { port } = socket.address();

        socket.close(() => resolve(port));
    });
});

/* As docs/deployment.md has it, but for the time-out. */
const config = (folder, port, upstream) => `
daemon off;
master_process off;
pid ${folder}/pid;
error_log ${folder}/error.log;
events { worker_connections 1024; }
http {
    access_log off;
    client_body_temp_path ${folder}/body;
    proxy_temp_path ${folder}/proxy;
    fastcgi_temp_path ${folder}/fastcgi;
    uwsgi_temp_path ${folder}/uwsgi;
    scgi_temp_path ${folder}/scgi;
    server {
        listen 127.0.0.1:${port};
        location /mcp {
            proxy_pass ${upstream};
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_read_timeout 2s;
        }
    }
}
`;

async function startProxy(upstream) {
    const folder = mkdtempSync(join(tmpdir(), 'libmcp-nginx-'));
    const port = await freePort();
    const file = join(folder, 'nginx.conf');

    writeFileSync(file, config(folder, port, upstream));
    const child = spawn('nginx', ['-p', folder, '-c', file], { stdio: 'ignore' });
    const url = `http://127.0.0.1:${port}/mcp`;

    await until(() => fetch(url).then(() => true, () => false), up => up);
    return { url, stop: () => process.kill(child.pid, 'SIGTERM') };
}

const server = await serve(`${bin}/probe-server`, ['--ping', '500']);
const proxy = await startProxy(new URL(server.url).origin);
const peer = await open(era, transports =>
    ({ transport: transports.http(proxy.url) }));

const stats = async () => (await peer.call('stats')).structuredContent;
const calm = () => until(stats, s => s.live_handlers === 0 && s.pool_free === 10);

for (const tool of ['hang', 'hang_async'])
    await prove(`ten_aborted_${tool}_leave_nothing`, async () => {
        const before = await calm();
        const controller = new AbortController();
        const options = { signal: controller.signal };
        const ends = Promise.allSettled(Array.from({ length: 10 },
            () => peer.call(tool, { seconds: 3600 }, options)));

        await until(stats, s => s.started === before.started + 10);
        controller.abort('stop it');
        assert.ok((await ends).every(end => end.status === 'rejected'));
        assert.equal((await calm()).cancelled, before.cancelled + 10);
    });
await prove('a_quiet_stream_survives', async () =>
    assert.equal((await peer.call('hang', { seconds: 5 })).content[0].text, 'slept'));
await prove('progress_is_not_held_back', async () => {
    const seen = [];

    await peer.call('count', { to: 4, delay_ms: 200 },
        { onprogress: () => seen.push(Date.now()) });
    assert.ok(seen.at(-1) - seen[0] > 100, 'all of it came at once');
});
await prove('close', () => peer.close());
proxy.stop();
server.stop();
finish();
