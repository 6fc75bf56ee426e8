/**
 * The default operator, for programs that do not create one: `import * as kopf from 'kopf'`, then `kopf.on.create(…)`. It is stored under a
 * registered symbol, since the command and the project may each load a copy of this package.
 */
import { Operator, type RunningOperator, type RunOptions } from './operator.ts'
import type { On } from './registration.ts'

const shared: unique symbol = Symbol.for('kopf.defaultOperator') as never
const globals = globalThis as { [shared]?: Operator }

/** Returns the default operator, on which `kopf.on.create(…)` and the like register. Creates it at the first call. */
export function getDefaultOperator(): Operator {
  globals[shared] ??= new Operator()
  return globals[shared]
}

/** Replaces the default operator. With `undefined`, the next use creates a new one. For tests, for example. */
export function setDefaultOperator(operator: Operator | undefined): void {
  if (operator === undefined) delete globals[shared]
  else globals[shared] = operator
}

/**
 * Registers handlers on the default operator.
 *
 * @example
 * ```ts
 * import * as kopf from 'kopf'
 *
 * kopf.on.create('kopfexamples', ({ name, logger }) => logger.info(`Hello, ${name}`))
 * ```
 */
export const on: On<Record<string, unknown>> = new Proxy({} as On<Record<string, unknown>>, {
  get: (_, type) => getDefaultOperator().on[type as keyof On<object>],
})

/** Registers a daemon on the default operator: a long-running function for each object. See {@link Operator.daemon}. */
export const daemon: Operator['daemon'] = forward('daemon')
/** Registers a timer on the default operator: a function that is called repeatedly for each object. See {@link Operator.timer}. */
export const timer: Operator['timer'] = forward('timer')
/** Registers a reconciler on the default operator: a function that returns the desired children. See {@link Operator.reconcile}. */
export const reconcile: Operator['reconcile'] = forward('reconcile')
/** Registers an indexing function on the default operator: an in-memory map of objects by key. See {@link Operator.index}. */
export const index: Operator['index'] = forward('index')

function forward<K extends 'daemon' | 'timer' | 'reconcile' | 'index'>(name: K): Operator[K] {
  const register = (...args: readonly unknown[]) =>
    (getDefaultOperator()[name] as (...args: readonly unknown[]) => unknown)(...args)
  return register as Operator[K]
}

/** Starts the default operator in the background. See {@link Operator.start}. */
export function start(options?: RunOptions): Promise<RunningOperator> {
  return getDefaultOperator().start(options)
}

/** Runs the default operator until the process receives SIGINT or SIGTERM, or until the operator fails. See {@link Operator.run}. */
export function run(options?: RunOptions): Promise<void> {
  return getDefaultOperator().run(options)
}
