import { readFile } from 'node:fs/promises';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer({ name: 'bench', version: '1.0.0' });

const OFFSET = 32;

function answer<T extends Record<string, unknown>>(value: T) {
  return { content: [{ type: 'text' as const, text: JSON.stringify(value) }], structuredContent: value };
}

server.registerTool(
  'convert',
  {
    description: 'Converts a temperature.',
    inputSchema: {
      value: z.number().min(-273.15).max(10_000).describe('Degrees'),
      direction: z.enum(['c_to_f', 'f_to_c']).describe('From Celsius, or to it'),
    },
    outputSchema: { value: z.number(), unit: z.string() },
  },
  async ({ value, direction }) =>
    answer(direction === 'c_to_f' ? { value: value * 1.8 + OFFSET, unit: 'F' } : { value: (value - OFFSET) / 1.8, unit: 'C' }),
);

server.registerTool(
  'count',
  {
    description: 'Counts the lines and words of a text file.',
    inputSchema: { path: z.string().describe('Path of the file') },
    outputSchema: { lines: z.number(), words: z.number() },
  },
  async ({ path }) => {
    const text = await readFile(path, 'utf8');
    return answer({ lines: text.trimEnd().split('\n').length, words: text.split(/\s+/).filter(Boolean).length });
  },
);

server.registerTool(
  'search',
  {
    description: 'Searches the lines of a text file.',
    inputSchema: {
      path: z.string().describe('Path of the file'),
      text: z.string().min(1).describe('Text that a line contains'),
      limit: z.number().int().min(1).max(100).default(10).describe('How many at most'),
    },
    outputSchema: { matches: z.array(z.object({ line: z.number(), text: z.string() })) },
  },
  async ({ path, text, limit }) => {
    const lines = (await readFile(path, 'utf8')).split('\n').map((each, index) => ({ line: index + 1, text: each }));
    return answer({ matches: lines.filter((each) => each.text.includes(text)).slice(0, limit) });
  },
);

await server.connect(new StdioServerTransport());
