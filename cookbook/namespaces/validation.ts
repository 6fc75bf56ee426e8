/** The rules of the validating webhook. Each rule returns sentences for the user. */
import { type Client, isNotFound } from 'kopf'
import { Namespace } from 'kopf/kubernetes'
import { namespacesOf, Team, type TeamSpec, teamLabel } from './team.ts'

/** Of all namespaces of a team together. */
const maxTeamQuota = { cpu: 64, memoryGi: 256, pods: 500 }
const quotaFields = ['cpu', 'memoryGi', 'pods'] as const

const reserved = [/^default$/, /^kube-/, /^openshift(-|$)/, /^istio-system$/, /^cert-manager$/]
export const isReserved = (namespace: string): boolean => reserved.some((pattern) => pattern.test(namespace))

export interface NamedTeam {
  readonly name: string
  readonly spec: TeamSpec
}

export interface TeamChange extends NamedTeam {
  /** Undefined for a new team. */
  readonly old: TeamSpec | undefined
}

/** The rules that need nothing but the object. */
export function checkSpec({ name, spec }: NamedTeam): string[] {
  const namespaces = namespacesOf(name, spec)
  return [...namespaces.flatMap((namespace) => checkName(namespace.name)), ...checkQuota(spec, namespaces.length)]
}

function checkName(namespace: string): string[] {
  if (isReserved(namespace)) return [`the namespace name "${namespace}" is reserved`]
  if (/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace)) return []
  return [`"${namespace}" is not a valid namespace name: use at most 63 lower-case letters, digits and dashes`]
}

function checkQuota({ quota }: TeamSpec, namespaces: number): string[] {
  return quotaFields.flatMap((field) => {
    const [total, limit] = [quota[field] * namespaces, maxTeamQuota[field]]
    if (total <= limit) return []
    return [`spec.quota.${field}: ${quota[field]} in ${namespaces} namespaces are ${total}, the limit is ${limit}`]
  })
}

/** Namespaces that are new in this change, and that exist or belong to another team. */
export async function findClashes({ name, spec, old }: TeamChange, client: Client): Promise<string[]> {
  const known = old === undefined ? [] : namesOf(name, old)
  const added = namesOf(name, spec).filter((namespace) => !known.includes(namespace))
  if (added.length === 0) return []
  const others = (await client.list(Team)).filter(({ metadata }) => metadata.name !== name)
  const problems: string[] = []
  for (const namespace of added) {
    const other = others.find((team) => namesOf(team.metadata.name, team.spec).includes(namespace))
    if (other !== undefined) problems.push(`the namespace "${namespace}" belongs to the team "${other.metadata.name}"`)
    else if (await isTaken(namespace, name, client))
      problems.push(`the namespace "${namespace}" exists, and has no label ${teamLabel}=${name}`)
  }
  return problems
}

const namesOf = (team: string, spec: TeamSpec) => namespacesOf(team, spec).map(({ name }) => name)

async function isTaken(namespace: string, team: string, client: Client): Promise<boolean> {
  try {
    const { metadata } = await client.get(Namespace, namespace)
    return metadata.labels?.[teamLabel] !== team
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}
