/*
 * mcpctl_cancel.mjs - a call that mcpctl gives up, and what becomes of it in the server
 *
 * Every case waits until the handler runs, which its first progress shows. How it ended
 * is in the journal of the peer, with the reason: so a handler that only ended because
 * its server did is told from one that was canceled.
 */
import { assert, prove, until } from './cases.mjs';
import { isGone, launch, sent, untangle } from './mcpctl_run.mjs';

const HOUR = ['slow', 'ms=3600000'];
const RUNS = /^progress 1\/1: step 1$/m;

/* One `slow` was begun since then, and has heard why it must end. Where closing is the
 * cancel, the server finds out by itself, and no reason comes along. */
async function expectAborted(met, reason) {
    const wanted = met.cancel === 'its response closed' ? /^aborted: / : reason;
    const lines = await met.calm();

    assert.equal(lines[0], 'began');
    assert.match(lines[1], wanted);
    assert.equal(lines.length, 2);
}

/* Over HTTP the server can still be asked. */
async function expectCalm(met, before) {
    if (!met.url)
        return;
    const { running, aborted } = (await met.ask('call', 'stats')).structuredContent;

    assert.deepEqual({ running, aborted }, { running: 0, aborted: before + 1 });
}

const countAborted = async met => met.url
    ? (await met.ask('call', 'stats')).structuredContent.aborted : 0;

/* A call that is canceled as stop(run) has it; gives how it ended. */
async function giveUp(met, stop, { words = [], reason = /^aborted: / } = {}) {
    await met.calm();
    const before = await countAborted(met);
    const run = met.start(['call', ...HOUR, ...words], { trace: true });

    await run.says('err', RUNS);
    await stop(run);
    await run.end;
    await expectAborted(met, reason);
    await expectCalm(met, before);
    return { ...run, ...untangle(run.err) };
}

/* The right signal was sent for the right request: nothing, where closing is it. */
function expectSignal(met, run) {
    const messages = sent(run);
    const { id } = messages.find(message => message.method === 'tools/call');
    const cancels = messages.filter(message =>
        message.method === 'notifications/cancelled');

    assert.deepEqual(cancels.map(({ params }) => params.requestId),
        met.cancel === 'its response closed' ? [] : [id]);
}

/* A server that was spawned has ended by itself. */
function expectEnded(met, run) {
    if (met.way !== 'stdio')
        return;
    const [, pid, status] = run.wire.map(({ text }) =>
        /^process (\d+) exited with status (\d+)$/.exec(text)).find(Boolean);

    assert.equal(status, '0');
    assert.ok(isGone(Number(pid)));
}

async function proveSignals(met) {
    await prove('ctrl_c_stops_the_handler', async () => {
        const run = await giveUp(met, call => call.kill('SIGINT'),
            { reason: /^aborted: Ctrl-C$/ });

        assert.deepEqual({ code: run.code, out: run.out, said: run.said }, {
            code: 130,
            out: '',
            said: ['progress 1/1: step 1', 'mcpctl: canceling tools/call slow',
                `mcpctl: canceled tools/call slow: ${met.cancel}, and the server ` +
                    'answers'],
        });
        expectSignal(met, run);
        expectEnded(met, run);
    });
    await prove('sigterm_stops_the_handler_and_ends_by_it', async () => {
        const run = await giveUp(met, call => call.kill('SIGTERM'));

        assert.equal(run.signal, 'SIGTERM');
        expectSignal(met, run);
        expectEnded(met, run);
    });
    await prove('a_reader_that_goes_stops_the_handler', async () => {
        const run = await giveUp(met, call => call.child.stdout.destroy());

        assert.equal(run.signal, 'SIGPIPE');
        assert.deepEqual(run.said, ['progress 1/1: step 1']);
        expectSignal(met, run);
        expectEnded(met, run);
    });
    await prove('a_timeout_stops_the_handler', async () => {
        const run = await giveUp(met, () => {},
            { words: ['--max-total', '5s'], reason: /^aborted: .*5000 ms/ });

        assert.equal(run.code, 1);
        assert.equal(run.said.at(-1),
            'mcpctl: no answer in time; the server was told to stop');
        expectSignal(met, run);
    });
}

/* ---- the shell ------------------------------------------------------------------- */

/* Lines in a pipe: each of stats is one line of JSON. */
const running = async shell => {
    const count = () => shell.out.split('\n').length;
    const before = count();

    shell.child.stdin.write('call stats\n');
    await until(count, now => now > before);
    return JSON.parse(shell.out.trimEnd().split('\n').at(-1)).structuredContent;
};

/* A server with --tick says at any moment that a resource has changed. */
const withoutChanges = err => err.replace(/^mcpctl: note:.* has changed\n/gm, '');

async function proveShell(met) {
    await prove('kill_in_the_shell_stops_the_handler', async () => {
        const shell = met.start(['sh']);
        const { aborted } = await running(shell);

        shell.child.stdin.write(`call ${HOUR.join(' ')} &\n`);
        await until(() => running(shell), stats => stats.running === 1);
        shell.child.stdin.write('kill %1\n');
        assert.equal((await until(() => running(shell), stats => stats.running === 0))
            .aborted, aborted + 1);
        shell.child.stdin.end('ping\n');
        await shell.end;
        assert.equal(shell.code, 0, shell.err);
        assert.ok(shell.err.includes(
            `canceled call ${HOUR.join(' ')}: ${met.cancel}, and the server answers\n`),
        shell.err);
        await expectAborted(met, /^aborted: /);
    });
    await prove('ctrl_c_ends_a_script_and_stops_the_handler', async () => {
        const shell = met.start(['sh']);

        shell.child.stdin.write(`call ${HOUR.join(' ')}\ncall echo text=never\n`);
        await shell.says('err', RUNS);
        shell.kill('SIGINT');
        await shell.end;
        assert.deepEqual({ code: shell.code, out: shell.out }, { code: 130, out: '' });
        assert.ok(withoutChanges(shell.err).endsWith(
            `canceled tools/call slow: ${met.cancel}, and the server answers\n`),
        shell.err);
        await expectAborted(met, /^aborted: Ctrl-C$/);
    });
}

/* A terminal of its own, by script(1): what is typed is read by its line discipline, so
 * that Ctrl-C is a key and not a signal that we send. exec: else the key would reach a
 * shell that waits, too. */
function openTerminal(...words) {
    const quoted = words.map(word => `'${word}'`).join(' ');
    const shell = launch('script',
        ['--quiet', '--return', '--flush', '--command', `exec ${quoted}`, '/dev/null']);

    shell.type = line => shell.child.stdin.write(line);
    return shell;
}

async function proveTerminal(met) {
    const [command, ...options] = met.target;

    await prove('ctrl_c_in_a_terminal_stops_it_and_the_shell_goes_on', async () => {
        const shell = openTerminal(`${met.bin}/mcpctl`, 'sh', command, ...options);

        await shell.says('out', new RegExp(`server-${met.peer}> `));
        shell.type(`call ${HOUR.join(' ')}\r`);
        await shell.says('out', /step 1/);
        shell.type('\x03');
        await shell.says('out', new RegExp(`canceled tools/call slow: ${met.cancel}`));
        await expectAborted(met, /^aborted: Ctrl-C$/);
        shell.type('call stats --json\r');
        await shell.says('out', /"running": 0,/);
        shell.type('quit\r');
        await shell.end;
        assert.equal(shell.code, 0, shell.out);
    });
}

export async function proveCancel(met) {
    await proveSignals(met);
    await proveShell(met);
    await proveTerminal(met);
}
