/** Tokens for tests: of a service account that is there, good for as long as anybody tests. */
import { KopfError } from '../../errors.ts'
import type { Parts } from '../call.ts'
import { keyOf } from '../storage/stored.ts'
import { longestSeconds, serverAudiences } from './account-tokens.ts'

/** A service account that is there. */
export interface ServiceAccountName {
  readonly serviceAccount: string
  /** `default` unless told. */
  readonly namespace?: string
}

export function issueLongToken(
  { store, tokens }: Pick<Parts, 'store' | 'tokens'>,
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
    seconds: longestSeconds,
    bound: {},
  })
}
