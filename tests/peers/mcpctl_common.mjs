/* mcpctl_common.mjs - what mcpctl must do with any server */
import { assert, prove } from './cases.mjs';
import { parse, sent, untangle } from './mcpctl_run.mjs';

async function proveRefusals(met, { sum, schema }) {
    const call = async (...words) => {
        const { code, out, err } = await met.run(['call', sum, ...words],
            { trace: true });
        const seen = untangle(met.own(err));

        assert.ok(err.includes(met.greeting));
        assert.ok(sent(seen).length > 0);
        assert.deepEqual(sent(seen).filter(m => m.method === 'tools/call'), []);
        return { code, out, said: seen.said };
    };

    await prove('a_wrong_argument_is_explained_and_not_sent', async () =>
        assert.deepEqual(await call('a=x', 'b=2'), { code: 1, out: '', said: [
            `mcpctl: a: must be a number, not "x"; ${schema.a}`,
            'mcpctl: nothing was sent'] }));
    await prove('a_missing_argument_is_explained_and_not_sent', async () =>
        assert.deepEqual(await call('a=1'), { code: 1, out: '', said: [
            `mcpctl: b: is required and missing; ${schema.b}`,
            'mcpctl: nothing was sent; give b=VALUE'] }));
    await prove('with_json_a_failure_is_a_line_of_json', async () => {
        const err = await met.refuse(1, 'call', sum, 'a=x', 'b=2', '--json');
        const own = parse(err).filter(line => !('server' in line)); /* any time */

        assert.deepEqual(own, [{
            error: { message: 'nothing was sent',
                faults: [`a: must be a number, not "x"; ${schema.a}`] },
            exit: 1,
        }]);
    });
    await prove('a_tool_that_is_not_there', async () =>
        assert.match(await met.refuse(1, 'call', `${sum}x`),
            new RegExp(`there is no tool "${sum}x"; did you mean ${sum}\\?\n$`)));
}

async function proveTalk(met, { sum }) {
    await prove('ping', async () => {
        const { code, out } = await met.run(['ping', '--count', '3']);

        assert.equal(code, 0);
        assert.deepEqual(parse(out).map(({ ping }) => ping), [1, 2, 3]);
        assert.ok(parse(out).every(({ ms }) => ms > 0));
    });
    await prove('raw', async () => {
        const params = { name: sum, arguments: { a: 2, b: 40 } };
        const { content } = await met.ask('raw', 'tools/call', JSON.stringify(params));

        assert.match(content[0].text, /\b42\b/);
    });
    await prove('raw_what_the_server_does_not_know', async () => assert.match(
        await met.refuse(1, 'raw', 'no/such'), /: the server says -32601: .*\n$/));
    await prove('era_of_another_time_is_refused', async () => {
        if (met.peer === 'v2')
            return; /* it speaks both */
        assert.notEqual(await met.refuse(4, 'info', '--era', 'modern'), '');
    });
}

/* Which calls are canceled is always the same. */
async function proveBench(met, { bench: [tool, ...args] }) {
    await prove('bench', async () => {
        const { code, out } = await met.run(['bench', ...args, '--tool', tool,
            '--count', '20', '--at-once', '4', '--cancel-rate', '30%',
            '--cancel-after', '5ms']);
        const report = JSON.parse(out);
        const { answered, failed, canceled, never_ended, protocol, verdict } = report;

        assert.deepEqual({ answered, failed, canceled, never_ended, protocol, code },
            { answered: 14, failed: 0, canceled: 6, never_ended: 0,
                protocol: met.version, code: verdict === 'left' ? 1 : 0 });
        assert.equal(report.server.still_answers, true);
        assert.equal(verdict, met.way === 'stdio' ? 'clean' : 'unseen', out);
        await met.calm();
    });
}

/* Which checks do not pass is known: each was looked at, and is true of the server. */
async function proveDoctor(met, { long: [tool, ...args], faults, doubts }) {
    await prove('doctor', async () => {
        const { code, out } = await met.run(['doctor', ...args, '--tool', tool]);
        const { checks, ...report } = JSON.parse(out);
        const ids = verdict => checks.filter(check => check.verdict === verdict)
            .map(check => check.id);

        assert.deepEqual(ids('fail'), faults, out);
        assert.deepEqual(ids('warn'), doubts, out);
        assert.equal(code, faults.length > 0 ? 1 : 0);
        assert.equal(report.passed, ids('pass').length);
        for (const id of ['session.opens', 'session.pages', 'tools.inputs', 'cancel'])
            assert.ok(ids('pass').includes(id) || faults.includes(id), id);
        await met.calm();
    });
}

/* One that runs until it is ended, on any transport. */
async function proveTailEnds(met) {
    await prove('ctrl_c_ends_tail', async () => {
        const tail = met.start(['tail', '--log', 'none'], { trace: true });

        await tail.says('err', met.isModern ? /<-- .*subscriptions\/acknowledged/
            : /--> .*notifications\/initialized/);
        tail.kill('SIGINT');
        await tail.end;
        assert.equal(tail.code, 130, tail.err);
        assert.match(tail.err, /canceled the subscription: .*the server answers/);
    });
}

export async function proveCommon(met, known) {
    await proveRefusals(met, known);
    await proveTalk(met, known);
    await proveTailEnds(met);
    await proveBench(met, known);
    await proveDoctor(met, known);
}
