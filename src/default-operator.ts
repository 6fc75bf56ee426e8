/**
 * The default operator, for programs that do not create one: `import * as kopf from 'kopf'`, then `kopf.on.create(…)`. It is stored under a
 * registered symbol, since the command and the project may each load a copy of this package.
 */
import type { Memo } from './handlers/args/args.ts'
import { Operator, type RunningOperator, type RunOptions } from './operator.ts'
import type { On } from './registration.ts'

const shared: unique symbol = Symbol.for('kopf.defaultOperator') as never
const globals = globalThis as { [shared]?: Operator }

/** Returns the default operator, on which `kopf.on.create(…)`, `kopf.daemon(…)` and so on register. Creates it at the first call. */
export function getDefaultOperator(): Operator {
  globals[shared] ??= new Operator()
  return globals[shared]
}

/** Replaces the default operator, for example in tests. With `undefined`, the next use creates a new operator without handlers. */
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
export const on: On<Memo> = new Proxy({} as On<Memo>, {
  get: (_, type) => getDefaultOperator().on[type as keyof On<object>],
})

/**
 * Registers a daemon on the default operator: a long-running function for each object. See {@link Operator.daemon}.
 *
 * @example
 * ```ts
 * kopf.daemon('kopfexamples', async ({ stopped, logger }) => {
 *   while (!(await stopped.wait('10s'))) logger.info('Still here')
 * })
 * ```
 */
export const daemon: Operator['daemon'] = forward('daemon')
/**
 * Registers a timer on the default operator: a function that is called repeatedly for each object. See {@link Operator.timer}.
 *
 * @example
 * ```ts
 * kopf.timer('kopfexamples', { interval: '1m' }, ({ name, logger }) => logger.info(`Checking ${name}`))
 * ```
 */
export const timer: Operator['timer'] = forward('timer')
/**
 * Registers a reconciler on the default operator: a function that returns the desired children. See {@link Operator.reconcile}.
 *
 * @example
 * ```ts
 * kopf.reconcile('websites', { owns: ['configmaps'] }, ({ name, spec }) => ({
 *   children: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { html: spec.html } }],
 * }))
 * ```
 */
export const reconcile: Operator['reconcile'] = forward('reconcile')
/**
 * Registers an indexing function on the default operator: an in-memory map of objects by key. See {@link Operator.index}.
 *
 * @example
 * ```ts
 * const podsOf = kopf.index('pods', ({ labels, name }) => [[labels['app'], name]])
 * ```
 */
export const index: Operator['index'] = forward('index')

function forward<K extends 'daemon' | 'timer' | 'reconcile' | 'index'>(name: K): Operator[K] {
  const register = (...args: readonly unknown[]) =>
    (getDefaultOperator()[name] as (...args: readonly unknown[]) => unknown)(...args)
  return register as Operator[K]
}

/** Starts the default operator in the background. Resolves when it is connected to the cluster. See {@link Operator.start}. */
export function start(options?: RunOptions): Promise<RunningOperator> {
  return getDefaultOperator().start(options)
}

/** Runs the default operator until the process receives SIGINT or SIGTERM, or until the operator fails. See {@link Operator.run}. */
export function run(options?: RunOptions): Promise<void> {
  return getDefaultOperator().run(options)
}
