/** Why an operator could not run, and what to do about it, in the words of this command. */
import { ApiError } from '../client/api-error.ts'
import { ConnectionError } from '../client/connection-error.ts'
import { KopfError } from '../errors.ts'

/** Adds to an error what only the command knows of its deepest cause; anything that nobody expects stays as it is. */
export function toRunError(error: unknown): unknown {
  const advice = causesOf(error).reverse().map(adviceFor).find(Boolean)
  if (advice === undefined || !(error instanceof KopfError)) return error
  return new KopfError(error.code, `${error.message}\n${advice}`, { cause: error })
}

/** A sentence serves for what people can put right; anything else shows where it is. */
export function describeFailure(error: unknown): string {
  if (error instanceof KopfError || !(error instanceof Error)) return String((error as Error)?.message ?? error)
  return error.stack ?? error.message
}

function adviceFor(error: unknown): string | undefined {
  if (error instanceof ConnectionError) {
    return 'Choose another cluster with --kubeconfig or --context, or run without any: --embedded'
  }
  if (error instanceof ApiError && error.status === 403) {
    return 'Give the user of the kubeconfig, or the service account of the pod, a role with these verbs on this resource'
  }
  if (error instanceof ApiError && error.status === 401) {
    return 'The credentials are not accepted: log in again, or choose others with --kubeconfig or --context'
  }
  if (error instanceof KopfError && error.code === 'KOPF_LOGIN') {
    return 'Name a kubeconfig with --kubeconfig or KUBECONFIG, or run without any cluster: --embedded'
  }
  return undefined
}

/** The error first, then what it came of. */
function causesOf(error: unknown): unknown[] {
  const chain: unknown[] = []
  for (let one = error; one !== undefined && one !== null && chain.length < 10; one = (one as Error).cause)
    chain.push(one)
  return chain
}
