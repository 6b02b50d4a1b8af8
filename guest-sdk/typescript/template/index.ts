import type { ToolContext, ToolHandler } from 'toolhost';

export const handlers: Record<string, ToolHandler> = {
  count: async (ctx: ToolContext, input: { path: string }) => {
    const file = Bun.file(input.path);
    if (!(await file.exists())) {
      throw Object.assign(new Error(`no such file: ${input.path}`), {
        code: 'NOT_FOUND',
        suggestion: 'pass the path of a text file, relative to the working directory',
      });
    }
    const text = await file.text();
    ctx.logger.debug(`read ${file.size} bytes of ${input.path}`);
    return {
      lines: text.split('\n').length - (text.endsWith('\n') ? 1 : 0),
      words: text.split(/\s+/).filter(Boolean).length,
      chars: [...text].length,
    };
  },
};
