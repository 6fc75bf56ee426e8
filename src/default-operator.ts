/**
 * The operator of programs that do not make one: `import * as kopf from 'kopf'`, then `kopf.on.create(…)`. The only state
 * of the package beside the log sink; under a registered symbol, since the command and the project may load a copy each.
 */
import { type On, Operator, type RunningOperator, type RunOptions } from './operator.ts'

const shared: unique symbol = Symbol.for('kopf.defaultOperator') as never
const place = globalThis as { [shared]?: Operator }

/** The operator of programs that do not make one: made when it is first asked for. */
export function getDefaultOperator(): Operator {
  place[shared] ??= new Operator()
  return place[shared]
}

/** Without one, a new operator is made when it is next asked for. */
export function setDefaultOperator(operator: Operator | undefined): void {
  if (operator === undefined) delete place[shared]
  else place[shared] = operator
}

/** Registers on the operator that is the default one at that moment. */
export const on: On<Record<string, unknown>> = new Proxy({} as On<Record<string, unknown>>, {
  get: (_, kind) => getDefaultOperator().on[kind as keyof On<object>],
})

/** `daemon` of the default operator: runs beside each object, for as long as it is there. */
export const daemon: Operator['daemon'] = forward('daemon')
/** `timer` of the default operator: called again and again for each object. */
export const timer: Operator['timer'] = forward('timer')
/** `reconcile` of the default operator: makes the children of each object be as they should. */
export const reconcile: Operator['reconcile'] = forward('reconcile')
/** `index` of the default operator: an overview of objects in memory, by key. */
export const index: Operator['index'] = forward('index')

function forward<K extends 'daemon' | 'timer' | 'reconcile' | 'index'>(kind: K): Operator[K] {
  const register = (...args: readonly unknown[]) =>
    (getDefaultOperator()[kind] as (...args: readonly unknown[]) => unknown)(...args)
  return register as Operator[K]
}

/** Starts the default operator in the background. */
export function start(options?: RunOptions): Promise<RunningOperator> {
  return getDefaultOperator().start(options)
}

/** Runs the default operator until the process is told to stop, or it fails. */
export function run(options?: RunOptions): Promise<void> {
  return getDefaultOperator().run(options)
}
