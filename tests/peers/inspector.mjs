/*
 * inspector.mjs - the command line of the MCP inspector against our server over HTTP
 *
 *     node inspector.mjs legacy|auto|modern BIN
 *
 * The inspector keeps files in its home: here that is a folder of its own.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { assert, finish, prove } from './cases.mjs';
import { scratch, serve } from './reach.mjs';

const [era, bin] = process.argv.slice(2);
const home = scratch();
const run = promisify(execFile);

const server = await serve(`${bin}/probe-server`);

async function inspect(...words) {
    const { stdout } = await run('programs/node_modules/.bin/mcp-inspector',
        ['--cli', server.url, '--transport', 'http', '--protocol-era', era,
            '--format', 'json', '--quiet', ...words],
        { env: { ...process.env, HOME: home } });

    return JSON.parse(stdout);
}

const find = (value, name) => JSON.stringify(value).includes(name);

await prove('tools_are_listed', async () => {
    const listed = await inspect('--method', 'tools/list');

    for (const name of ['echo', 'add', 'hang', 'stats'])
        assert.ok(find(listed, `"${name}"`), name);
});
await prove('a_tool_is_called', async () =>
    assert.ok(find(await inspect('--method', 'tools/call', '--tool-name', 'add',
        '--tool-arg', 'a=19', '--tool-arg', 'b=23'), '"sum":42')));
await prove('resources_are_listed', async () =>
    assert.ok(find(await inspect('--method', 'resources/list'), 'watch://0')));
await prove('a_resource_is_read', async () =>
    assert.ok(find(await inspect('--method', 'resources/read', '--uri', 'watch://1'),
        'watch://1')));
await prove('the_server_stops', async () => assert.equal(await server.stop(), 0));
finish();
