/*
 * mcpctl_run.mjs - mcpctl, run as a user would run it, with a server of others
 *
 * meet(bin, peer, way, era, options) gives
 *
 *     target                     the words that name the server, with the era
 *     url                        over HTTP
 *     version, cancel            what they speak, and how a cancel is spelled
 *     run(words, options)        COMMAND, and what stands behind the target; to its end
 *     start(words, options)      the same, not waited for
 *     ask(...words)              run, which must go well; the JSON that it gave
 *     refuse(code, ...words)     run, which must end so; what was on stderr
 *     journal()                  what became of `slow` since it was asked for last
 *     calm()                     the same, once every `slow` that was begun has ended
 *     leave()                    stops the server
 *
 * A run is { code, signal, out, err }. options: input, for stdin; trace.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, until } from './cases.mjs';
import { browser } from './guarded.mjs';
import { scratch, start as startServer } from './reach.mjs';

const EVERYTHING = 'node_modules/@modelcontextprotocol/server-everything/dist/index.js';
const TRACE = /^ *\d+\.\d{3} (-->|<--|---) /;
/* stdio, http, sse: the words behind `node` */
const PEERS = {
    v2: {
        stdio: ['server_v2.mjs', '--tick'],
        http: ['server_v2.mjs', 'http', '--tick'],
    },
    v1: {
        stdio: ['server_v1.mjs', 'stdio', '--tick'],
        http: ['server_v1.mjs', 'http', '--tick'],
        sse: ['server_v1.mjs', 'sse', '--tick'],
    },
    everything: {
        stdio: [EVERYTHING, 'stdio'],
        http: ['everything.mjs', 'streamableHttp'],
        sse: ['everything.mjs', 'sse'],
    },
};

const home = scratch();
const journal = join(home, 'journal');
let notedBefore = 0;

process.env.PEER_JOURNAL = journal;

/* Nothing of who runs this: no servers that are configured, no tokens; and a browser
 * without a user. */
const env = { PATH: process.env.PATH, TERM: 'xterm', LANG: 'C.UTF-8', ...browser(home),
    HOME: home };

export const parse = text =>
    text.trimEnd().split('\n').filter(Boolean).map(line => JSON.parse(line));

/* What the protocol of 2026-07-28 adds to a result. */
export function plain(result) {
    const { resultType, _meta, ttlMs, cacheScope, ...rest } = result;

    return rest;
}

/* A program with pipes: what it has said so far, and its end. */
export function launch(command, args, input) {
    const child = spawn(command, args, { env, stdio: 'pipe' });
    const run = { child, code: null, signal: null, out: '', err: '' };

    for (const [name, pipe] of [['out', child.stdout], ['err', child.stderr]])
        pipe.setEncoding('utf8').on('data', chunk => (run[name] += chunk));
    child.stdin.on('error', () => {}); /* it need not read all */
    if (input !== undefined)
        child.stdin.end(input);
    run.end = new Promise((resolve, reject) => {
        child.once('error', reject);
        child.once('close', (code, signal) => resolve(Object.assign(run,
            { code, signal })));
    });
    /* not child.kill, as reach.mjs has it */
    run.kill = signal => process.kill(child.pid, signal);
    run.says = (name, pattern) => until(() => run[name], text => pattern.test(text));
    return run;
}

/* stderr without what --trace shows, and that: lines { way, text }. */
export function untangle(err) {
    const lines = err.split('\n').slice(0, -1);

    return {
        said: lines.filter(line => !TRACE.test(line)),
        wire: lines.filter(line => TRACE.test(line)).map(line => ({
            way: TRACE.exec(line)[1],
            text: line.replace(TRACE, ''),
        })),
    };
}

/* Messages that were sent, by what a trace shows. */
export const sent = ({ wire }) => wire.filter(line => line.way === '-->')
    .map(line => JSON.parse(line.text));

/* Fails while one that we have seen start still runs. */
export const isGone = pid => {
    try {
        process.kill(pid, 0);
        return false;
    } catch {
        return true;
    }
};

function readJournal() {
    const lines = existsSync(journal)
        ? readFileSync(journal, 'utf8').trimEnd().split('\n').filter(Boolean) : [];

    return lines.slice(notedBefore);
}

/* How a cancel goes there, in the words of mcpctl. */
const spelling = (way, version) => way === 'stdio' ? 'notifications/cancelled sent'
    : version > '2026' ? 'its response closed' : 'notifications/cancelled posted';

/* options: more of these for the server, over HTTP. */
export async function meet(bin, peer, way, era, options = []) {
    const words = [...PEERS[peer][way], ...options];
    const isModern = peer === 'v2' && era !== 'legacy';
    const version = isModern ? '2026-07-28' : '2025-11-25';
    const server = way === 'stdio' ? undefined
        : await startServer(process.execPath, words, 'pipe');
    const place = server ? [server.url]
        : [['node', ...words].join(' '), '--env', `PEER_JOURNAL=${journal}`];
    const target = [...place, '--era', era];
    const start = ([command, ...rest], { input, trace } = {}) =>
        launch(`${bin}/mcpctl`,
            [command, ...target, ...rest, ...(trace ? ['--trace'] : [])], input);
    const run = (said, options) => start(said, { input: '', ...options }).end;
    /* What the server says on stderr is passed on, before, between or behind what mcpctl
     * says itself. */
    const greeting = peer === 'everything' && way === 'stdio'
        ? 'Starting default (STDIO) server...\n' : '';
    const own = err => err.replace(greeting, '');

    return {
        bin, peer, way, era, target, version, isModern, start, run,
        url: server?.url,
        place: place[0],
        cancel: spelling(way, version),
        greeting,
        own,
        ask: async (...said) => {
            const { code, out, err } = await run(said);

            assert.equal(code, 0, err);
            return plain(JSON.parse(out));
        },
        refuse: async (code, ...said) => {
            const ran = await run(said);

            assert.deepEqual({ code: ran.code, out: ran.out }, { code, out: '' });
            return own(ran.err);
        },
        journal: () => {
            const lines = readJournal();

            notedBefore += lines.length;
            return lines;
        },
        calm: async () => {
            const count = word => readJournal().filter(line => word.test(line)).length;

            await until(() => count(/^began/) - count(/^(finished|aborted)/),
                running => running === 0);
            const lines = readJournal();

            notedBefore += lines.length;
            return lines;
        },
        leave: () => server?.stop(),
    };
}
