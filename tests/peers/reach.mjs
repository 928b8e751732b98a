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
 *                                   stdin 'pipe': its end would be that of the server
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export const overStdio = command => transports => ({
    transport: transports.stdio(command),
});

/* The first line that a server prints is its URL. */
export async function start(command, options = [], stdin = 'ignore') {
    const child = spawn(command, options, { stdio: [stdin, 'pipe', 'pipe'] });
    const lines = createInterface({ input: child.stdout });
    const url = await new Promise((resolve, reject) => {
        lines.once('line', resolve);
        child.once('exit', code => reject(new Error(`${command} ended: ${code}`)));
    });

    /* not child.kill: that is for signals that an SDK found necessary */
    const stop = () => child.exitCode ?? process.kill(child.pid, 'SIGTERM');

    return { url, pid: child.pid, stop };
}

export const serve = (command, options = [], address = '127.0.0.1:0') =>
    start(command, ['--http', address, ...options]);

const over = kind => (command, options) => async transports => {
    const server = await serve(command, options);

    return { transport: transports[kind](server.url), leave: () => server.stop() };
};

export const overHttp = over('http');
export const overSse = over('sse');
