/* server_v1.mjs - a stdio server on the TypeScript SDK 1.x, as its users write one */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { echo, schemas, slow, stats } from './tools.mjs';

const server = new McpServer({ name: 'server-v1', version: '1.0.0' });

server.registerTool('echo', { inputSchema: schemas.echo.shape }, echo);
server.registerTool('stats', { outputSchema: schemas.stats.shape }, stats);
server.registerTool('slow', { inputSchema: schemas.slow.shape }, (args, extra) => {
    const progressToken = extra._meta?.progressToken;

    return slow(args, extra.signal, async progress => {
        if (progressToken !== undefined)
            await extra.sendNotification({
                method: 'notifications/progress',
                params: { ...progress, progressToken },
            });
    });
});

await server.connect(new StdioServerTransport());
