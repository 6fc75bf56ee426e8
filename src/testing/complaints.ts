/** What is said when a test has waited in vain: what there is instead, and what operators had to say last. */
import { KopfError } from '../errors.ts'

const mostLines = 15
const mostCharacters = 4000

/** The object without what nobody reads. */
export function describeObject(object: object | undefined, name: string): string {
  if (object === undefined) return `There is no "${name}".`
  const { metadata, ...rest } = object as { readonly metadata?: object }
  const { managedFields: _, ...shown } = (metadata ?? {}) as { readonly managedFields?: unknown }
  const text = JSON.stringify({ ...rest, metadata: shown }, undefined, 2)
  return `It is: ${text.length > mostCharacters ? `${text.slice(0, mostCharacters)}…` : text}`
}

export function describeLogs(logs: readonly string[]): string {
  if (logs.length === 0) return 'No operator has logged anything: is one started on this cluster?'
  return `The last of the log:\n${logs.slice(-mostLines).join('\n')}`
}

export function stillRunning(count: number): KopfError {
  const who = count === 1 ? 'an operator was' : `${count} operators were`
  return new KopfError(
    'KOPF_CLUSTER_IN_USE',
    `Cannot close the cluster in good order: ${who} still running on it, and had to be stopped; start operators with ` +
      '`await using running = await operator.start(cluster)` after the cluster, or stop them before it',
  )
}
