/** The templates that a stateful set or a daemon set has had, each kept in an object of its own, so that it can be rolled back. */
import type { JsonObject, KubeObject } from '../../../kube/objects.ts'
import { isEqual } from '../../builtins/values.ts'
import type { Parts } from '../../call.ts'
import { controllerReference, isControlledBy, list } from './reading.ts'
import type { PodTemplate } from './shapes.ts'
import { templateHash } from './template-hash.ts'
import type { Writer } from './writing.ts'

const collection = 'apps/controllerrevisions'

export interface Revision extends KubeObject {
  readonly data: { readonly spec: { readonly template: PodTemplate } }
  readonly revision: number
}

export interface SetWithTemplate extends KubeObject {
  spec: { readonly template: PodTemplate; readonly revisionHistoryLimit?: number }
}

export function revisionsOf(parts: Parts, owner: KubeObject): Revision[] {
  return list<Revision>(parts, collection, owner.metadata.namespace!)
    .filter((one) => isControlledBy(one, owner))
    .sort((one, other) => one.revision - other.revision)
}

export interface RevisionOptions {
  /** Under which label each kind of owner keeps the hash. */
  readonly hashLabel: string
  readonly annotations?: Readonly<Record<string, string>>
}

/** That of the present template, made or taken again, with the highest number. */
export async function currentRevision(
  parts: Parts,
  writer: Writer,
  owner: SetWithTemplate,
  options: RevisionOptions,
): Promise<Revision> {
  const known = revisionsOf(parts, owner)
  const wished = toRevision(owner, (known.at(-1)?.revision ?? 0) + 1, options)
  const same = known.find(({ data }) => isEqual(data, wished.data))
  if (same === undefined) return writer.create<Revision>(wished)
  return same === known.at(-1) ? same : writer.update({ ...same, revision: wished.revision })
}

function toRevision(owner: SetWithTemplate, revision: number, { hashLabel, annotations }: RevisionOptions): Revision {
  const { name, namespace = '' } = owner.metadata
  const { template } = owner.spec
  const hash = templateHash(template)
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name: `${name}-${hash}`,
      namespace,
      labels: { ...template.metadata?.labels, [hashLabel]: hash },
      ...(annotations && { annotations }),
      ownerReferences: [controllerReference(owner)],
    },
    data: { spec: { template: { ...template, $patch: 'replace' } } },
    revision,
  } as Revision
}

export function templateOf({ data }: Revision): PodTemplate {
  const { $patch: _, ...template } = data.spec.template as PodTemplate & JsonObject
  return template as unknown as PodTemplate
}

/** Those that no pod is of, beyond as many as the owner wants to keep. */
export async function forgetRevisions(
  parts: Parts,
  writer: Writer,
  owner: SetWithTemplate,
  isUsed: (revision: Revision) => boolean,
): Promise<void> {
  const { revisionHistoryLimit = 10 } = owner.spec
  const unused = revisionsOf(parts, owner).filter((revision) => !isUsed(revision))
  for (const one of unused.slice(0, Math.max(0, unused.length - revisionHistoryLimit))) await writer.delete(one)
}
