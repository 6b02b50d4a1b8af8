// Runs a program that calls a tool many times, in the code mode that the argument names. Each line of standard input
// is a request, each line of standard output its answer. PEERS is the folder with the packages.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

// Standard output is for answers: what packages log is not written, nor measured.
console.log = () => {};

const require = createRequire(`${process.env.PEERS}/`);
const program = (calls, call) =>
  `let last; for (let i = 0; i < ${calls}; i++) last = ${call}; return { calls: ${calls}, last };`;

async function utcp() {
  const { CodeModeUtcpClient } = require('@utcp/code-mode');
  const { addFunctionToUtcpDirectCall } = require('@utcp/direct-call');
  const schema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
  const call = (callable_name) => ({ name: 'bench', call_template_type: 'direct-call', callable_name });
  addFunctionToUtcpDirectCall('say', async (text) => ({ text }));
  addFunctionToUtcpDirectCall('manual', async () => ({
    utcp_version: '1.0.0',
    manual_version: '1.0.0',
    tools: [
      { name: 'say', description: 'Says it back', inputs: schema, outputs: schema, tags: [], tool_call_template: call('say') },
    ],
  }));
  const client = await CodeModeUtcpClient.create();
  await client.registerManual(call('manual'));
  return async ({ calls, text }) => {
    const code = program(calls, `bench.say({ text: ${JSON.stringify(text)} })`);
    const { result, logs } = await client.callToolChain(code);
    if (!result) throw new Error(logs.join('\n'));
    return result;
  };
}

async function aiSdk() {
  const { experimental_runCodeMode: runCodeMode } = require('@ai-sdk/code-mode');
  const { tool } = require('ai');
  const { z } = require('zod');
  const inputSchema = z.object({ text: z.string() });
  const say = tool({ description: 'Says it back', inputSchema, execute: async ({ text }) => ({ text }) });
  return ({ calls, text }) => {
    const js = program(calls, `await tools.say({ text: ${JSON.stringify(text)} })`);
    return runCodeMode({ js, tools: { say }, options: { executionPolicy: { maxBridgeRequests: calls } } });
  };
}

const run = await { utcp, 'ai-sdk': aiSdk }[process.argv[2]]();
for await (const line of createInterface({ input: process.stdin })) {
  const { id, input } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify({ id, output: await run(input) })}\n`);
}
