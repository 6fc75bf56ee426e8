/**
 * Checks the answers of `kopf init` one by one, with a suggestion where the answer can be corrected: `Database` for `database`. Pure. The
 * rules are those of `defineResource`.
 */
import { KopfError } from '../../errors.ts'
import { defineResource } from '../../kube/resources/resources.ts'

export interface AnswerProblem {
  /** What is wrong with the answer, as a part of a sentence. */
  readonly problem: string
  readonly suggestion?: string | undefined
}

/** Names that operator.ts of the template declares or imports. */
const takenNames = ['ConfigMap', 'Operator']

/** Undefined if the kind is possible. */
export function checkKind(kind: string): AnswerProblem | undefined {
  if (takenNames.includes(kind)) return { problem: `operator.ts uses the name "${kind}" for something else` }
  const isPossible = (one: string) => isDefinable(one, 'example.com')
  if (isPossible(kind)) return undefined
  const problem = 'a kind must be in CamelCase, letters and digits, such as "Database"'
  return { problem, suggestion: [toKind(kind)].find(isPossible) }
}

/** Undefined if the group is possible. */
export function checkApiGroup(group: string): AnswerProblem | undefined {
  if (/(^|\.)(k8s|kubernetes)\.io$/.test(group)) {
    return { problem: 'the groups of k8s.io and kubernetes.io are reserved for Kubernetes; use a domain of yours' }
  }
  const isPossible = (one: string) => isDefinable('Database', one)
  if (isPossible(group)) return undefined
  const problem = 'an API group must be a domain in lower case with a dot, such as "example.com"'
  return { problem, suggestion: [toGroup(group)].find(isPossible) }
}

function isDefinable(kind: string, group: string): boolean {
  try {
    defineResource({ group, version: 'v1', kind })
    return true
  } catch (error) {
    if (!(error instanceof KopfError)) throw error
    return false
  }
}

/** `my-database` becomes `MyDatabase`. */
function toKind(text: string): string {
  const words = withoutAccents(text).split(/[^A-Za-z0-9]+/)
  return words.map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`).join('')
}

/** `https://Example.com/` becomes `example.com`. */
function toGroup(text: string): string {
  return withoutAccents(text)
    .toLowerCase()
    .replace(/^https?:\/\//, '')
    .replace(/\/.*$/, '')
    .replaceAll(/[^a-z0-9.]+/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '')
}

function withoutAccents(text: string): string {
  return text.normalize('NFD').replaceAll(/\p{Mark}/gu, '')
}
