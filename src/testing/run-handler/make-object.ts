/** Creates the object of a handler test and its cause, from the options of `runHandler` and defaults. */
import { randomUUID } from 'node:crypto'
import type { Cause, HandlerReason } from '../../causation/cause.ts'
import { diffEssences } from '../../causation/diff.ts'
import { revealSecret } from '../../causation/reveal-secrets.ts'
import { KopfError } from '../../errors.ts'
import type { Handler } from '../../handlers/handler.ts'
import { isDeletionOngoing } from '../../kube/finalizers.ts'
import { formatGroupVersion, type KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { essenceOf, toStored } from '../../objects/compare-essences.ts'
import type { Settings } from '../../settings/settings.ts'
import { cloneJson } from '../../util/json/deep-equal.ts'
import type { RunHandlerOptions } from './types.ts'

export type AnyOptions = RunHandlerOptions<string, object>

/** Options that are not fields of the object. */
const notStanzas: ReadonlySet<string> = new Set([
  ...['id', 'resource', 'kind', 'body', 'old', 'reason', 'retry', 'started', 'memo', 'event', 'stopAfter'],
  ...['operation', 'subresource', 'dryrun', 'userinfo', 'headers', 'sslpeer', 'signal', 'cluster'],
  ...['name', 'namespace', 'labels', 'annotations', 'metadata', 'children'],
])

export interface TestObject {
  readonly body: KubeObject
  /** Undefined if there was no previous state. */
  readonly oldBody: KubeObject | undefined
  readonly cause: Cause
  readonly deleting: boolean
}

interface ObjectSetting {
  readonly handler: Handler
  readonly resource: Resource
  readonly settings: Settings
  /** Fields outside the essence that handlers observe. */
  readonly extraFields: readonly (readonly string[])[]
}

export function makeTestObject(
  options: AnyOptions,
  { handler, resource, settings, extraFields }: ObjectSetting,
): TestObject {
  const reason = options.reason ?? reasonOf(handler, options)
  const body = bodyOf(options, { resource, reason, finalizer: settings.persistence.finalizer })
  const oldBody = options.old === undefined ? undefined : ({ ...body, ...cloneJson(options.old) } as KubeObject)
  const now = essenceOf(settings, { body, extraFields })
  // An object that is resumed or deleted was handled before in its present state.
  const before = oldBody ?? (reason === 'create' ? undefined : body)
  const old = before && essenceOf(settings, { body: withUid(before, body.metadata.uid), extraFields })
  const compared = { reason, initial: reason === 'resume', old, new: now, diff: diffEssences(old, now) }
  const stored = old && before && toStored(settings, before, old)
  const cause = revealSecret(compared, { body, stored })
  return { body, oldBody, cause, deleting: isDeletionOngoing(body) }
}

/** Gives the old state the uid of the object, even if the test gives other metadata: the digests of a Secret depend on the uid. */
function withUid(state: KubeObject, uid: string | undefined): KubeObject {
  return { ...state, metadata: { ...state.metadata, ...(uid !== undefined && { uid }) } }
}

function reasonOf(handler: Handler, { old }: AnyOptions): HandlerReason {
  const { type, id } = handler
  const { reasons = undefined, initial = false } = handler.category === 'change' ? handler : {}
  if (initial) return 'resume'
  const [only] = reasons ?? []
  if (only === 'update' && old === undefined) {
    throw new KopfError(
      'KOPF_TEST_HANDLER',
      `Cannot run the ${type} handler "${id}": nothing has changed; give the previous state, such as old: { spec: { … } }`,
    )
  }
  return only ?? (old === undefined ? 'create' : 'update')
}

interface ObjectParts {
  readonly resource: Resource
  readonly reason: HandlerReason
  readonly finalizer: string
}

function bodyOf(options: AnyOptions, { resource, reason, finalizer }: ObjectParts): KubeObject {
  const { name = 'example', namespace = 'default', labels, annotations } = options
  const stanzas = Object.fromEntries(Object.entries(options).filter(([key]) => !notStanzas.has(key)))
  const given = cloneJson((options.body ?? {}) as Partial<KubeObject>)
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
  const metadata = {
    name,
    ...(resource.namespaced ? { namespace } : {}),
    uid: randomUUID(),
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: now,
    ...(reason === 'delete' ? { deletionTimestamp: now, finalizers: [finalizer] } : {}),
    ...given.metadata,
    ...options.metadata,
    ...(labels === undefined ? {} : { labels: { ...labels } }),
    ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
  }
  const { kind, group, version } = resource
  return {
    apiVersion: formatGroupVersion(group, version),
    kind,
    ...given,
    ...cloneJson(stanzas),
    metadata,
  } as KubeObject
}
