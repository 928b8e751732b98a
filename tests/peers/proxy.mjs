/*
 * proxy.mjs - nginx in front of a server
 *
 *     startProxy(upstream, silence)       { url, child }; after that much silence it
 *                                         gives up a response
 *     node proxy.mjs SILENCE COMMAND...   the same for a command that prints its URL,
 *                                         as this one does then
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ownPort, scratch } from './reach.mjs';

const PATIENCE_MS = 60000;

/* As docs/deployment.md has it, but for the time-out. */
const config = (folder, port, upstream, silence) => `
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
            proxy_read_timeout ${silence};
        }
    }
}
`;

const isUp = port => new Promise(resolve => {
    const socket = connect(port, '127.0.0.1');

    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('close', () => socket.destroy()).end();
});

export async function startProxy(upstream, silence) {
    const folder = scratch();
    const port = await ownPort();
    const file = join(folder, 'nginx.conf');
    const end = Date.now() + PATIENCE_MS;

    writeFileSync(file, config(folder, port, upstream, silence));
    const child = spawn('nginx', ['-p', folder, '-c', file], { stdio: 'ignore' });

    while (!await isUp(port)) {
        if (child.exitCode !== null || Date.now() > end)
            throw new Error('nginx did not start');
        await delay(20);
    }
    return { url: `http://127.0.0.1:${port}/mcp`, child };
}

/* It ends when both have; by a signal, or the end of stdin. */
async function main([silence, command, ...args]) {
    const server = spawn(command, args, { stdio: ['inherit', 'pipe', 'inherit'] });
    const url = await new Promise((resolve, reject) => {
        createInterface({ input: server.stdout }).once('line', resolve);
        server.once('exit', code => reject(new Error(`${command} ended: ${code}`)));
    });
    const proxy = await startProxy(new URL(url).origin, silence);

    const stop = () => [server, proxy.child].forEach(child => child.kill());

    process.on('SIGTERM', stop);
    process.stdin.on('end', stop).resume().unref();
    console.log(proxy.url);
}

if (process.argv[1] === fileURLToPath(import.meta.url))
    await main(process.argv.slice(2));
