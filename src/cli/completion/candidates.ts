/**
 * `kopf __complete`: the candidates for a word that only a kubeconfig or a cluster knows. Called by the completion scripts while a person waits
 * for the Tab key, so that it never fails, prints nothing else, and ends after a short time.
 */
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { collectionPath } from '../../client/paths.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { callAfter } from '../../util/async/clock.ts'
import type { CommandCluster } from '../cluster.ts'
import type { ClusterArguments } from '../options/cluster.ts'
import { print } from '../terminal.ts'
import {
  type ClusterValue,
  type CompletedCommand,
  type CompletionModel,
  type ExpectedValue,
  isClusterValue,
  readTree,
} from './model.ts'

/** Prints the candidates for the last of the words, one per line. */
export async function printCandidates(program: Command, words: readonly string[]): Promise<void> {
  const request = toRequest(readTree(program), words)
  for (const candidate of request === undefined ? [] : await findCandidates(request)) print(candidate)
}

/** The word at the cursor, and the words before it that say where to look. */
interface CompletionRequest {
  readonly type: ClusterValue
  /** The part of the value that is already typed. */
  readonly typed: string
  readonly cluster: ClusterArguments
  readonly namespace: string | undefined
  readonly resource: string | undefined
}

/** Reads the words after `kopf`; the last one is incomplete. Undefined if the kubeconfig and the cluster do not know the value. */
function toRequest({ commands }: CompletionModel, words: readonly string[]): CompletionRequest | undefined {
  const [command, rest] = findCommand(commands, words)
  if (command === undefined || rest.length === 0) return undefined
  const { values, positionals, pending } = readWords(command, rest.slice(0, -1))
  const [typed, expected] = readLastWord(command, rest.at(-1)!, pending ?? positionals.length)
  if (expected === undefined || !isClusterValue(expected)) return undefined
  const [kubeconfig, context] = [values.get('--kubeconfig'), values.get('--context')]
  return {
    type: expected,
    typed,
    cluster: { ...(kubeconfig !== undefined && { kubeconfig }), ...(context !== undefined && { context }) },
    namespace: values.get('--namespace'),
    resource: positionals[0],
  }
}

/** The command and the words after it. Zsh gives the words from the innermost command on: `migrate` without `crd`. */
function findCommand(
  commands: readonly CompletedCommand[],
  [name, ...rest]: readonly string[],
): [command: CompletedCommand | undefined, rest: readonly string[]] {
  const nested = commands.flatMap(({ subcommands }) => subcommands)
  const command = [...commands, ...nested].find((one) => one.name === name)
  const below = rest.length > 1 ? command?.subcommands.find((one) => one.name === rest[0]) : undefined
  return below === undefined ? [command, rest] : [below, rest.slice(1)]
}

interface ReadWords {
  /** The values of options, by the last of their flags. */
  readonly values: ReadonlyMap<string, string>
  readonly positionals: readonly string[]
  /** The flag of an option whose value is the next word. */
  readonly pending: string | undefined
}

function readWords(command: CompletedCommand, words: readonly string[]): ReadWords {
  const values = new Map<string, string>()
  const positionals: string[] = []
  let pending: string | undefined
  for (const word of words) {
    const [flag, value] = splitOption(word)
    const option = pending === undefined ? findOption(command, flag) : undefined
    if (pending !== undefined) values.set(pending, word)
    else if (option?.value !== undefined && value !== undefined) values.set(option.flags.at(-1)!, value)
    else if (!word.startsWith('-')) positionals.push(word)
    pending = option?.value !== undefined && value === undefined ? option.flags.at(-1)! : undefined
  }
  return { values, positionals, pending }
}

/** `place`: the flag whose value the word is, or the number of arguments before it. */
function readLastWord(
  command: CompletedCommand,
  word: string,
  place: string | number,
): [typed: string, expected: ExpectedValue | undefined] {
  if (typeof place === 'string') return [word, findOption(command, place)?.value]
  const [flag, value] = splitOption(word)
  if (value !== undefined) return [value, findOption(command, flag)?.value]
  const { positionals } = command
  return [word, word.startsWith('-') ? undefined : positionals[Math.min(place, positionals.length - 1)]]
}

/** `--context=dev` becomes `--context` and `dev`. */
function splitOption(word: string): [flag: string, value?: string] {
  const [, flag, value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? []
  return flag === undefined ? [word] : [flag, value!]
}

function findOption({ options }: CompletedCommand, flag: string) {
  return options.find(({ flags }) => flags.includes(flag))
}

/** The time that a person waits for the Tab key. */
const limitMs = 2000

/** The limit of objects that are requested, and of candidates that are printed. */
const maxCandidates = 500

/** Returns no candidates after a failure or the time limit: an error would be printed in the middle of the line that the user types. */
async function findCandidates(request: CompletionRequest): Promise<readonly string[]> {
  const timeout = new Promise<readonly string[]>((settle) => callAfter(limitMs, () => settle([])))
  const found = await Promise.race([list(request).catch(() => []), timeout])
  // A name with a control character would be taken for several candidates, or for commands of the terminal.
  const isShown = (name: string) => name.startsWith(request.typed) && !/\p{Cc}/u.test(name)
  return [...new Set(found)].filter(isShown).toSorted().slice(0, maxCandidates)
}

async function list({ type, cluster: args, namespace, resource }: CompletionRequest): Promise<readonly string[]> {
  if (type === 'context') {
    const { contextsOfKubeconfig } = await import('../../client/auth/kubeconfig.ts')
    return contextsOfKubeconfig(args.kubeconfig === undefined ? undefined : resolve(args.kubeconfig))
  }
  const { CommandCluster } = await import('../cluster.ts')
  await using cluster = await CommandCluster.open(args)
  if (type === 'namespace') return await listNames(cluster, namespaces)
  if (type === 'resource') return (await cluster.resources()).filter(isListable).map(toResourceName)
  const found = await cluster.find(resource!)
  return await listNames(cluster, found, found.namespaced ? (namespace ?? cluster.namespace) : undefined)
}

const namespaces = { group: '', version: 'v1', plural: 'namespaces', namespaced: false } as const

/** Names only, without the rest of the objects, which may be large. */
const accept = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'

async function listNames(
  { session }: CommandCluster,
  resource: Parameters<typeof collectionPath>[0],
  namespace?: string,
): Promise<string[]> {
  const path = collectionPath(resource, namespace)
  const call = {
    method: 'GET',
    path,
    query: { limit: maxCandidates },
    accept,
    backoffsMs: [],
    timeoutMs: limitMs,
  } as const
  const { items } = await session.request(call)
  return ((items ?? []) as unknown as KubeObject[]).map(({ metadata }) => metadata.name!)
}

function isListable({ verbs, preferred }: Resource): boolean {
  return preferred && verbs.includes('list')
}

/** `pods`, `deployments.apps` */
function toResourceName({ plural, group }: Resource): string {
  return group === '' ? plural : `${plural}.${group}`
}
