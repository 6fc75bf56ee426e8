/** Reads the source and builds its copies. Values of Secrets pass through here; nothing in this file logs. */
import { buildObject, type Client, isNotFound } from 'kopf'
import { ConfigMap, Secret } from 'kopf/kubernetes'
import type { Source } from './replication.ts'

/** The fields of a Secret or ConfigMap that are copied. Labels and annotations are not: the annotation of `kubectl apply` repeats all values. */
export interface Content {
  readonly kind?: string
  readonly type?: string
  readonly data?: Readonly<Record<string, string>>
  readonly binaryData?: Readonly<Record<string, string>>
  readonly immutable?: boolean
}

/** Returns the source, or undefined if it does not exist or is being deleted. */
export async function readSource(client: Client, { kind, namespace, name }: Source): Promise<Content | undefined> {
  try {
    const found =
      kind === 'Secret'
        ? await client.get('secrets', name, { namespace })
        : await client.get('configmaps', name, { namespace })
    return found.metadata.deletionTimestamp === undefined ? found : undefined
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** The copy is never immutable: the operator has to update it when the source is replaced. */
export function buildCopy(source: Source, namespace: string, content: Content): Secret | ConfigMap {
  const annotations = { 'example.com/replicated-from': `${source.namespace}/${source.name}` }
  const metadata = { name: source.name, namespace, annotations }
  const { type = 'Opaque', data = {}, binaryData = {} } = content
  return source.kind === 'Secret'
    ? buildObject(Secret, { metadata, type, data })
    : buildObject(ConfigMap, { metadata, data, binaryData })
}

/**
 * Whether a copy must be deleted and created again: Kubernetes allows no change of the type of a Secret, and none of the data of an immutable
 * object.
 */
export function isOutdated(copy: Content, original: Content): boolean {
  return copy.immutable === true || copy.type !== original.type
}
