/** Creates, corrects and deletes the namespaces of one team. */
import { type Client, isAlreadyExists, isNotFound, type ObjectLogger } from 'kopf'
import { Namespace } from 'kopf/kubernetes'
import { type TeamSpec, uidAnnotation, type WantedNamespace } from './team.ts'
import { isReserved } from './validation.ts'

/** The fields of an existing namespace that the operator reads. */
interface FoundNamespace {
  readonly metadata: {
    readonly name: string
    readonly uid?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly deletionTimestamp?: string
  }
}

/** The names that the team has, by their state. */
export interface Provision {
  readonly provided: string[]
  /** A namespace of this name exists that is not of this team: it is left alone. */
  readonly taken: string[]
  /** The namespace is being deleted. It is created again when it is gone. */
  readonly terminating: string[]
}

export async function provideNamespaces(
  wanted: readonly WantedNamespace[],
  existing: readonly FoundNamespace[],
  uid: string,
  client: Client,
): Promise<Provision> {
  const byName = new Map(existing.map((namespace) => [namespace.metadata.name, namespace]))
  const provision: Provision = { provided: [], taken: [], terminating: [] }
  for (const one of wanted) {
    const state = await provideNamespace(one, byName.get(one.name), uid, client)
    provision[state].push(one.name)
  }
  return provision
}

async function provideNamespace(
  wanted: WantedNamespace,
  found: FoundNamespace | undefined,
  uid: string,
  client: Client,
): Promise<keyof Provision> {
  if (found === undefined) return (await createNamespace(wanted, uid, client)) ? 'provided' : 'taken'
  if (found.metadata.deletionTimestamp !== undefined) return 'terminating'
  await correctNamespace(found, wanted, uid, client)
  return 'provided'
}

/** False if a namespace of this name exists. */
async function createNamespace({ name, labels }: WantedNamespace, uid: string, client: Client): Promise<boolean> {
  try {
    await client.create(Namespace, { metadata: { name, labels, annotations: { [uidAnnotation]: uid } } })
    return true
  } catch (error) {
    if (isAlreadyExists(error)) return false
    throw error
  }
}

/** Puts labels back. A retained namespace of an earlier team with this name gets the uid of the present one. */
async function correctNamespace(
  { metadata: found }: FoundNamespace,
  wanted: WantedNamespace,
  uid: string,
  client: Client,
): Promise<void> {
  const hasLabels = Object.entries(wanted.labels).every(([key, value]) => found.labels?.[key] === value)
  if (hasLabels && found.annotations?.[uidAnnotation] === uid) return
  const metadata = { labels: wanted.labels, annotations: { [uidAnnotation]: uid } }
  await client.patch(Namespace, wanted.name, { metadata })
}

interface Removal {
  readonly uid: string
  readonly spec: Pick<TeamSpec, 'deletionPolicy'>
  readonly client: Client
  readonly logger: ObjectLogger
}

/** Deletes namespaces that the team does not have any more. Returns the names of those that stay. */
export async function removeNamespaces(
  surplus: readonly FoundNamespace[],
  { uid, spec, client, logger }: Removal,
): Promise<string[]> {
  const retained: string[] = []
  for (const { metadata } of surplus) {
    const isOurs = metadata.annotations?.[uidAnnotation] === uid && !isReserved(metadata.name)
    if (spec.deletionPolicy === 'Retain' || !isOurs) retained.push(metadata.name)
    else if (metadata.deletionTimestamp === undefined) {
      logger.warn(`Deleting the namespace ${metadata.name}, as the deletion policy says`)
      const preconditions = { uid: metadata.uid ?? '' }
      await client.delete(Namespace, metadata.name, { preconditions }).catch(ignoreNotFound)
    }
  }
  return retained
}

export function ignoreNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error
  return undefined
}
