/** The template history of a StatefulSet or DaemonSet: one ControllerRevision per template, for rollbacks. */
import type { JsonObject, KubeObject } from '../../../kube/objects.ts'
import { isEqual } from '../../builtins/values.ts'
import type { ServerContext } from '../../call.ts'
import type { ObjectWriter } from './object-writer.ts'
import { controllerReference, isControlledBy, list } from './reading.ts'
import type { PodTemplateSpec } from './shapes.ts'
import { templateHash } from './template-hash.ts'

const collection = 'apps/controllerrevisions'

export interface Revision extends KubeObject {
  readonly data: { readonly spec: { readonly template: PodTemplateSpec } }
  readonly revision: number
}

export interface SetWithTemplate extends KubeObject {
  spec: { readonly template: PodTemplateSpec; readonly revisionHistoryLimit?: number }
}

export function revisionsOf(parts: ServerContext, owner: KubeObject): Revision[] {
  return list<Revision>(parts, collection, owner.metadata.namespace!)
    .filter((one) => isControlledBy(one, owner))
    .sort((one, other) => one.revision - other.revision)
}

export interface RevisionOptions {
  /** Label of the template hash; it depends on the kind of the owner. */
  readonly hashLabel: string
  readonly annotations?: Readonly<Record<string, string>>
}

/** The revision of the current template: created, or an earlier one reused, with the highest revision number. */
export async function currentRevision(
  parts: ServerContext,
  writer: ObjectWriter,
  owner: SetWithTemplate,
  options: RevisionOptions,
): Promise<Revision> {
  const known = revisionsOf(parts, owner)
  const desired = toRevision(owner, (known.at(-1)?.revision ?? 0) + 1, options)
  const same = known.find(({ data }) => isEqual(data, desired.data))
  if (same === undefined) return writer.create<Revision>(desired)
  return same === known.at(-1) ? same : writer.update({ ...same, revision: desired.revision })
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

export function templateOf({ data }: Revision): PodTemplateSpec {
  const { $patch: _, ...template } = data.spec.template as PodTemplateSpec & JsonObject
  return template as unknown as PodTemplateSpec
}

/** Deletes the oldest revisions without pods, beyond the owner's history limit. */
export async function deleteUnusedRevisions(
  parts: ServerContext,
  writer: ObjectWriter,
  owner: SetWithTemplate,
  isUsed: (revision: Revision) => boolean,
): Promise<void> {
  const { revisionHistoryLimit = 10 } = owner.spec
  const unused = revisionsOf(parts, owner).filter((revision) => !isUsed(revision))
  for (const one of unused.slice(0, Math.max(0, unused.length - revisionHistoryLimit))) await writer.delete(one)
}
