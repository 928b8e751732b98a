/*
 * tools.mjs - the tools of both server scripts: what they do, without any SDK
 *
 * `slow` listens to its abort signal; `stats` tells what it heard. The counters are of
 * the process, because an SDK may make a second server object for the same connection.
 * Who cannot ask any more, because the session is over, finds the same in the file that
 * PEER_JOURNAL names.
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';

export const counts = { running: 0, finished: 0, aborted: 0, reason: '', lists: 0,
    roots: 0, sessions: 0 };

export const schemas = {
    echo: z.object({ text: z.string() }),
    slow: z.object({ ms: z.number(), steps: z.number().default(1) }),
    cut: z.object({ ms: z.number(), all: z.boolean().default(false) }),
    stats: z.object({
        running: z.number(),
        finished: z.number(),
        aborted: z.number(),
        reason: z.string(),
        lists: z.number(), /* of resources, asked for */
        roots: z.number(), /* changes told */
        sessions: z.number(), /* over HTTP, ever */
    }),
};

export const text = words => ({ content: [{ type: 'text', text: words }] });

export function echo(args) {
    return text(args.text);
}

const journal = process.env.PEER_JOURNAL;
const note = line => journal && appendFileSync(journal, `${line}\n`);

/* Takes so long, in so many steps, and reports each as it begins. */
export async function slow({ ms, steps }, signal, report) {
    counts.running++;
    note('began');
    try {
        for (let step = 1; step <= steps; step++) {
            await report({ progress: step, total: steps, message: `step ${step}` });
            await delay(ms / steps, undefined, { signal });
        }
        counts.finished++;
        note('finished');
        return text('done');
    } catch (error) {
        if (signal.aborted) {
            counts.aborted++;
            counts.reason = String(signal.reason);
            note(`aborted: ${counts.reason}`);
        }
        throw error;
    } finally {
        counts.running--;
    }
}

export function stats() {
    return { ...text(JSON.stringify(counts)), structuredContent: { ...counts } };
}

/* Lets the client go, if it can come back, and answers after that time; with `all`, the
 * stream that belongs to no request is cut, too. */
export async function cut({ ms, all }, close, closeOther) {
    close?.();
    if (all)
        closeOther?.();
    await delay(ms);
    return text(close ? 'welcome back' : 'nothing to cut');
}
