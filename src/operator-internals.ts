/**
 * The parts of an operator that the command line and the testing kit need. The package does not export them, and the types of `Operator` do not mention
 * them.
 */
import type { Registry } from './handlers/registry.ts'
import type { Operator } from './operator.ts'
import type { Settings } from './settings/settings.ts'

/** Marks operators. A registered symbol: the command and the user's project may each have loaded a copy of this package. */
const key: unique symbol = Symbol.for('kopf.Operator') as never

export interface OperatorInternals {
  readonly name: string | undefined
  readonly registry: Registry
  readonly settings: Settings
  /** Creates a new memo with the option `memo`. Each run has its own, and objects get copies of it. */
  createMemo(): object
}

/** Key of the list of operators that are created while `kopf run` loads files. Registered, for the same reason. */
const recordKey: unique symbol = Symbol.for('kopf.createdOperators') as never

const globals = globalThis as { [recordKey]?: Operator[] | undefined }

/** Called by the constructor of `Operator`. */
export function setInternals(operator: object, internals: OperatorInternals): void {
  Object.defineProperty(operator, key, { value: internals })
  globals[recordKey]?.push(operator as Operator)
}

/** Lists the operators that are created until the result is disposed, so that the command notices operators that a file does not export. */
export function recordOperators(): Disposable & { readonly operators: readonly Operator[] } {
  const operators: Operator[] = []
  globals[recordKey] = operators
  return { operators, [Symbol.dispose]: () => void delete globals[recordKey] }
}

export function internalsOf(operator: Operator): OperatorInternals {
  return (operator as unknown as { readonly [key]: OperatorInternals })[key]
}

export function isOperator(value: unknown): value is Operator {
  return typeof value === 'object' && value !== null && key in value
}

/** Whether the operator reviews or converts objects, which it can only do once it is ready. */
export function hasWebhooks(operator: Operator): boolean {
  return internalsOf(operator).registry.webhookHandlers.length > 0
}
