/** Exports the author's module as the contract requires. */
import { discard, run } from 'toolhost:engine';
import { console, logAs } from './console';
import { toContext, type WitContext } from './context';
import { toToolError } from './failure';
import { describeModule, type ExportSpec, type ToolModule } from './module';
import { toOutcome, type Outcome } from './output';
import { evaluateAtBuild } from './snapshot';
import { discardClock } from './web/clock';

/** Evaluates the bundle of the author's module, given the modules it imports from this runtime. */
export type Load = (module: { exports: object }, exports: object, require: (name: string) => unknown) => void;

export function component(load: Load, served: Record<string, unknown>) {
  const evaluate = (): ToolModule => {
    const module = { exports: {} };
    load(module, module.exports, (name) => served[name]);
    return module.exports as ToolModule;
  };
  const { value: built, fresh } = evaluateAtBuild(evaluate);
  const described = describeModule(built);
  if (fresh) discard();
  discardClock();
  const tool = () => (fresh ? evaluate() : built);

  return {
    handlers: {
      describe: (): ExportSpec[] => described,
      call: (name: string, context: WitContext, input: string) =>
        answer(name, async () => {
          const { handlers } = tool();
          const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
          if (!handler) throw unknownHandler(name, described);
          return handler.call(handlers, toContext(context), JSON.parse(input));
        }),
    },
    polling: {
      poll: (context: WitContext, handle: string) => answer('poll', async () => tool().polling!.poll(toContext(context), handle)),
      cancel: (context: WitContext, handle: string) =>
        run(async () => {
          try {
            await tool().polling!.cancel?.(toContext(context), handle);
          } catch (error) {
            console.error('cancel failed:', error);
          }
        }),
    },
  };
}

/** Runs a handler and returns its outcome. An exception becomes the contract's error. */
function answer(name: string, act: () => Promise<unknown>): Outcome | Promise<Outcome> {
  logAs(name);
  const failed = (error: unknown): never => {
    throw toToolError(error);
  };
  try {
    const outcome = run(async () => toOutcome(await act())) as Outcome | Promise<Outcome>;
    return outcome instanceof Promise ? outcome.catch(failed) : outcome;
  } catch (error) {
    return failed(error);
  }
}

function unknownHandler(name: string, described: ExportSpec[]): Error {
  const names = described.map((each) => `\`${each.name}\``).join(', ');
  return Object.assign(new Error(`this tool has no handler \`${name}\``), {
    name: 'UnknownHandlerError',
    code: 'UNKNOWN_HANDLER',
    suggestion: `use ${names}`,
  });
}
