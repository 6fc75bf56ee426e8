/**
 * The operator of programs that do not make one: `import * as kopf from 'kopf'`, then `kopf.on.create(…)`. The only state
 * of the package beside the log sink; under a registered symbol, since the command and the project may load a copy each.
 */
import { type On, Operator, type RunningOperator, type RunOptions } from './operator.ts'

const shared: unique symbol = Symbol.for('kopf.defaultOperator') as never
const place = globalThis as { [shared]?: Operator }

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

export const daemon: Operator['daemon'] = forward('daemon')
export const timer: Operator['timer'] = forward('timer')
export const reconcile: Operator['reconcile'] = forward('reconcile')
export const index: Operator['index'] = forward('index')

function forward<K extends 'daemon' | 'timer' | 'reconcile' | 'index'>(kind: K): Operator[K] {
  const register = (...args: readonly unknown[]) =>
    (getDefaultOperator()[kind] as (...args: readonly unknown[]) => unknown)(...args)
  return register as Operator[K]
}

export function start(options?: RunOptions): Promise<RunningOperator> {
  return getDefaultOperator().start(options)
}

export function run(options?: RunOptions): Promise<void> {
  return getDefaultOperator().run(options)
}
