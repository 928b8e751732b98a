/*
 * mcpctl_login.mjs - mcpctl signs in to a server on the TypeScript SDK 2.x
 *
 *     node mcpctl_login.mjs modern|legacy BIN
 */
import { assert, finish, prove } from './cases.mjs';
import { meet } from './mcpctl_run.mjs';

const [era, bin] = process.argv.slice(2);
const met = await meet(bin, 'v2', 'http', era, ['--issuer', `${bin}/test-issuer`]);

await prove('who_is_not_signed_in_is_told_how', async () => assert.match(
    await met.refuse(3, 'info'), /to sign in: mcpctl login http:\/\/127\.0\.0\.1:/));
await prove('login', async () => {
    const { code, err } = await met.run(['login']);

    assert.equal(code, 0, err);
});
await prove('tokens_are_kept_and_used', async () => assert.deepEqual(
    (await met.ask('call', 'add', 'a=40', 'b=2')).structuredContent, { sum: 42 }));
await prove('without_them_it_is_refused', () => met.refuse(3, 'info', '--no-store'));
await prove('the_server_stops', () => met.leave());
finish();
