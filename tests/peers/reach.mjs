/*
 * reach.mjs - how a client reaches a server of its own
 *
 * reach(transports) of an SDK gives { transport, leave }; leave() is for after the close.
 *
 *     overStdio(command)            the SDK starts it and stops it
 *     overHttp(command, options)    we start it with --http and these options, and stop it
 *                                   with SIGTERM
 *     overSse(command, options)     the same, by the transport of 2024-11-05
 *     serve(command, options), start(command, options, stdin)
 *                                   start one that says its URL, with --http and without;
 *                                   stdin 'pipe': its end would be that of the server;
 *                                   stop() gives its status
 *     ownPort()                     for who must be told one
 *     scratch()                     a folder that is gone at the end, for what programs keep
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const FIRST_PORT = 16384; /* the kernel gives those from 32768 on to who asks for any */
const PORTS = 16384;

export const overStdio = command => transports => ({
    transport: transports.stdio(command),
});

/* The first line that a server prints is its URL. */
export async function start(command, options = [], stdin = 'ignore') {
    const child = spawn(command, options, { stdio: [stdin, 'pipe', 'pipe'] });
    const lines = createInterface({ input: child.stdout });
    const end = new Promise(resolve =>
        child.once('exit', (code, signal) => resolve(signal ?? code)));
    const url = await new Promise((resolve, reject) => {
        lines.once('line', resolve);
        child.once('exit', code => reject(new Error(`${command} ended: ${code}`)));
    });

    /* not child.kill: that is for signals that an SDK found necessary */
    const stop = () => {
        if (child.exitCode === null && child.signalCode === null)
            process.kill(child.pid, 'SIGTERM');
        return end;
    };

    return { url, stop };
}

export const serve = (command, options = [], address = '127.0.0.1:0') =>
    start(command, ['--http', address, ...options]);

const over = kind => (command, options) => async transports => {
    const server = await serve(command, options);

    return { transport: transports[kind](server.url), leave: () => server.stop() };
};

export const overHttp = over('http');
export const overSse = over('sse');

const isFree = port => new Promise(resolve => {
    const server = createServer().once('error', () => resolve(false))
        .listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
});

/* Nobody else takes it between this and its use: proofs that run beside each other begin
 * to look at another one each, and the kernel gives none of them to anybody. */
export async function ownPort() {
    let port = FIRST_PORT + process.pid % PORTS;

    while (!await isFree(port))
        port = FIRST_PORT + (port + 1) % PORTS;
    return port;
}

export function scratch() {
    const home = mkdtempSync(join(tmpdir(), 'libmcp-peers-'));

    process.once('exit', () => rmSync(home, { recursive: true, force: true }));
    return home;
}
