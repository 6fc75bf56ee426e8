/** Usernames and groups of service accounts. Pure. */
import { labelNameProblems, subdomainNameProblems } from '../names.ts'

const prefix = 'system:serviceaccount:'

export interface AccountName {
  readonly namespace: string
  readonly name: string
}

export function accountUsername({ namespace, name }: AccountName): string {
  return `${prefix}${namespace}:${name}`
}

export function accountGroups(namespace: string): string[] {
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`]
}

/** Undefined if the user is not a service account. */
export function parseAccountUsername(username: string): AccountName | undefined {
  if (!username.startsWith(prefix)) return undefined
  const [namespace = '', name = '', ...rest] = username.slice(prefix.length).split(':')
  const isSound = labelNameProblems(namespace, false).length + subdomainNameProblems(name, false).length === 0
  return rest.length === 0 && isSound ? { namespace, name } : undefined
}
