/** Creates objects in a newly started server: CRDs, namespaces and other objects, in the given order. */
import { KopfError } from '../errors.ts'
import { formatGroupResource, formatGroupVersion, type KubeObject, parseGroupVersion } from '../kube/objects.ts'
import type { Transport } from '../util/transport.ts'

interface DiscoveredResource {
  readonly name: string
  readonly kind: string
  readonly namespaced: boolean
}

export interface LoadObjectsOptions {
  /** Skips objects that exist, for example from the last run of a server with a data directory. Default: an existing object is an error. */
  readonly leavesPresent?: boolean
}

/** Returns the names of the created objects: `gadgets.example.com/first`. Throws at the first object that is rejected. */
export async function loadObjects(
  server: Transport,
  objects: readonly unknown[],
  options: LoadObjectsOptions = {},
): Promise<string[]> {
  const loaded: string[] = []
  for (const object of objects.flatMap(flatten)) loaded.push(...(await loadOne(server, object, options)))
  return loaded
}

function flatten(object: unknown): KubeObject[] {
  const { kind, items, apiVersion } = (object ?? {}) as { kind?: unknown; items?: unknown; apiVersion?: unknown }
  if (apiVersion === 'v1' && kind === 'List' && Array.isArray(items)) return items.flatMap(flatten)
  if (typeof kind === 'string' && typeof apiVersion === 'string') return [object as KubeObject]
  throw new KopfError(
    'KOPF_SERVER_LOAD',
    `Cannot load an object: it has no apiVersion and kind: ${String(JSON.stringify(object)).slice(0, 60)}`,
  )
}

async function loadOne(
  server: Transport,
  object: KubeObject,
  { leavesPresent }: LoadObjectsOptions,
): Promise<string[]> {
  const { name = '', generateName = '', namespace = 'default' } = object.metadata ?? {}
  const what = `${object.kind} "${name || generateName}"`
  const groupVersion = parseGroupVersion(object.apiVersion)
  if (groupVersion === undefined) throw refused(what, `"${object.apiVersion}" is not an apiVersion`)
  const { group, version } = groupVersion
  const root = group === '' ? `/api/${version}` : `/apis/${formatGroupVersion(group, version)}`
  const { resources = [] } = (await call(server, 'GET', root)) as { resources?: DiscoveredResource[] }
  const resource = resources.find(({ kind, name: plural }) => kind === object.kind && !plural.includes('/'))
  if (resource === undefined) {
    throw refused(what, `the server has no ${object.kind} in ${object.apiVersion}; does its CRD come before it?`)
  }
  const scope = resource.namespaced ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  const answer = (await call(server, 'POST', `${root}${scope}/${resource.name}?fieldValidation=Strict`, object)) as {
    kind?: string
    reason?: string
    message?: string
    metadata?: { name?: string }
  }
  if (answer.reason === 'AlreadyExists' && leavesPresent) return []
  if (answer.kind === 'Status') throw refused(what, answer.message ?? 'no reason was given')
  return [`${formatGroupResource({ group, plural: resource.name })}/${answer.metadata?.name}`]
}

function refused(what: string, why: string): KopfError {
  return new KopfError('KOPF_SERVER_LOAD', `Cannot load ${what}: ${why}`)
}

async function call(server: Transport, method: string, path: string, body?: unknown): Promise<unknown> {
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  const request = { method, path, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
  const response = await server.send(request)
  const chunks: Uint8Array[] = []
  for await (const chunk of response.body) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString('utf8')
  return response.status === 404 && !text.startsWith('{') ? {} : JSON.parse(text)
}
