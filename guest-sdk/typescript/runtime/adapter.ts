/** Exports the author's module as the contract requires. */
import { discard, leaveRoom, prepare, run } from 'toolhost:engine';
import { console, logAs } from './console';
import { toContext, type WitContext } from './context';
import type { WholePlan } from './convert';
import { toToolError } from './failure';
import { toArguments, toValue } from './input';
import { describeModule, exportSpec, type Described, type ExportSpec, type ToolModule } from './module';
import { toOutcome, type Outcome } from './output';
import { evaluateAtBuild } from './snapshot';
import { logStack } from './stack';
import { discardClock } from './web/clock';

/** Evaluates the bundle of the author's module, given the modules it imports from this runtime. */
export type Load = (module: { exports: object }, exports: object, require: (name: string) => unknown) => void;

/** `types`: what the types of the author's modules say of the handlers. */
export function component(load: Load, served: Record<string, unknown>, types: readonly Described[]) {
  const evaluate = (): ToolModule => {
    const module = { exports: {} };
    load(module, module.exports, (name) => {
      if (!Object.hasOwn(served, name)) throw missingModule(name);
      return served[name];
    });
    return module.exports as ToolModule;
  };
  prepare(() => answer('', async () => (await null, sampleCall())));
  const { value: built, fresh } = evaluateAtBuild(evaluate);
  const { described, leftOut } = describeModule(built, types);
  const specs = described.map(exportSpec);
  const plans = new Map(described.map(({ name, plan }) => [name, plan]));
  if (fresh) discard();
  discardClock();
  leaveRoom();
  const tool = () => (fresh ? evaluate() : built);

  return {
    exports: described.map(({ plan, ...said }) => said),
    leftOut,
    handlers: {
      describe: (): ExportSpec[] => specs,
      call: (name: string, context: WitContext, input: string) => {
        const plan = plans.get(name);
        return answer(
          name,
          () => {
            const { handlers } = tool();
            const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
            if (!handler) throw unknownHandler(name, specs);
            const value = plan?.input ? toArguments(input, plan.input) : toValue(input, 'input');
            return handler.call(handlers, toContext(context), value);
          },
          plan?.output,
        );
      },
    },
    polling: {
      poll: (context: WitContext, handle: string) => answer('poll', () => tool().polling!.poll(toContext(context), handle)),
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

/** A module that was not found while the tool was built, or whose name was not written out. */
function missingModule(name: string): Error {
  const error = new Error(`Cannot find module '${name}': it is not in the component`);
  return Object.assign(error, { code: 'MODULE_NOT_FOUND', suggestion: 'write the name of a module as one string where it is imported' });
}

/** Runs a handler and returns its outcome. An exception becomes the contract's error. */
function answer(name: string, act: () => unknown, plan?: WholePlan): Outcome | Promise<Outcome> {
  logAs(name);
  try {
    const value = run(act);
    return value instanceof Promise ? value.then((each) => toOutcome(each, plan)).catch(failed) : toOutcome(value, plan);
  } catch (error) {
    return failed(error);
  }
}

function failed(error: unknown): never {
  logStack(error);
  throw toToolError(error);
}

/** Does what each call does, except for the handler. */
function sampleCall(): unknown {
  const texts = { agentName: '', instanceKey: '', turnId: '', toolCallId: '', traceId: 'trace', workdir: '/' };
  const context = toContext({ ...texts, message: '{"content":[{"text":"a"}]}' });
  console.info('text');
  return { context, input: toValue('{"list":[1,"a",true,null]}', 'input') };
}

function unknownHandler(name: string, described: ExportSpec[]): Error {
  const names = described.map((each) => `\`${each.name}\``).join(', ');
  return Object.assign(new Error(`this tool has no handler \`${name}\``), {
    name: 'UnknownHandlerError',
    code: 'UNKNOWN_HANDLER',
    suggestion: `use ${names}`,
  });
}
