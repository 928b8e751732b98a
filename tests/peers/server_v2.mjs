/*
 * server_v2.mjs - a stdio server on the TypeScript SDK 2.x, as its users write one
 *
 *     node server_v2.mjs                  both eras
 *     node server_v2.mjs --modern-only    who says `initialize` is refused
 */
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { echo, schemas, slow, stats } from './tools.mjs';

function makeServer() {
    const server = new McpServer({ name: 'server-v2', version: '1.0.0' });

    server.registerTool('echo', { inputSchema: schemas.echo }, echo);
    server.registerTool('stats', { outputSchema: schemas.stats }, stats);
    server.registerTool('slow', { inputSchema: schemas.slow }, (args, ctx) => {
        const progressToken = ctx.mcpReq._meta?.progressToken;

        return slow(args, ctx.mcpReq.signal, async progress => {
            if (progressToken !== undefined)
                await ctx.mcpReq.notify({
                    method: 'notifications/progress',
                    params: { ...progress, progressToken },
                });
        });
    });
    return server;
}

const isModernOnly = process.argv.includes('--modern-only');
serveStdio(makeServer, { legacy: isModernOnly ? 'reject' : 'serve' });
