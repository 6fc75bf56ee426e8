/** Tokens for tests: for an existing service account, with the maximum lifetime. */
import { KopfError } from '../../errors.ts'
import type { ServerContext } from '../call.ts'
import { keyOf } from '../storage/stored.ts'
import { maxTokenSeconds, serverAudiences } from './account-tokens.ts'

/** An existing service account. */
export interface ServiceAccountName {
  /** The name of the service account. */
  readonly serviceAccount: string
  /** The namespace of the service account. Default: `default`. */
  readonly namespace?: string
}

export function issueLongToken(
  { store, tokens }: Pick<ServerContext, 'store' | 'tokens'>,
  { serviceAccount: name, namespace = 'default' }: ServiceAccountName,
): string {
  const account = store.collection('serviceaccounts').get(keyOf(namespace, name))
  if (account === undefined) {
    throw new KopfError(
      'KOPF_SERVER_ACCOUNT',
      `Cannot issue a token for the service account "${namespace}/${name}": there is none; create it before`,
    )
  }
  const { uid } = account
  return tokens.issue({
    account: { namespace, name, uid },
    audiences: serverAudiences,
    seconds: maxTokenSeconds,
    bound: {},
  })
}
