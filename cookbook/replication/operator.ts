/** Keeps copies of a Secret or ConfigMap in all namespaces that match a selector. */
import { Operator } from 'kopf'
import { ConfigMap, Namespace, Secret } from 'kopf/kubernetes'
import { buildCopy, isOutdated, readSource } from './copies.ts'
import { listTargets } from './namespaces.ts'
import { Replication } from './replication.ts'

const kopf = new Operator({ name: 'replication' })
export default kopf

/** The names of all Replications, and of those whose source (and so whose copies) have a certain kind and name. */
const all = kopf.index(Replication, { id: 'all' }, ({ name }) => [[null, name]])
const bySource = kopf.index(Replication, { id: 'by-source' }, ({ name, spec: { source } }) => [
  [`${source.kind}/${source.name}`, name],
])

kopf.reconcile(
  Replication,
  {
    owns: [Secret, ConfigMap],
    watches: [
      // Any namespace can start or stop matching any selector.
      [Namespace, () => [...all.get(null)]],
      // Copies have the name of their source. So these functions find the source, and also objects of others that block a copy.
      [Secret, ({ metadata }) => [...bySource.get(`Secret/${metadata.name}`)]],
      [ConfigMap, ({ metadata }) => [...bySource.get(`ConfigMap/${metadata.name}`)]],
    ],
    // Objects that this operator has not created stay as they are. The condition "ChildrenApplied" names them.
    existing: 'refuse',
    resync: '10m',
  },
  async ({ spec, children, client, patch, conditions, logger }) => {
    const { source } = spec
    const [original, targets] = await Promise.all([readSource(client, source), listTargets(client, spec)])
    const copies = [...children].filter(({ kind, metadata }) => {
      return kind === source.kind && metadata.name === source.name && targets.includes(metadata.namespace ?? '')
    })
    patch.status.namespaces = targets.length
    patch.status.copies = copies.length

    if (original === undefined) {
      const message = `${source.kind} "${source.name}" in the namespace "${source.namespace}" does not exist; existing copies stay`
      conditions.set('Ready', false, 'SourceMissing', message)
      logger.warn(message)
      // Keeps the copies in namespaces that match, and deletes those in namespaces that do not match any more.
      return { children: copies.map((copy) => buildCopy(source, copy.metadata.namespace ?? '', copy)) }
    }

    const outdated = copies.filter((copy) => isOutdated(copy, original)).map(({ metadata }) => metadata.namespace)
    const isComplete = copies.length === targets.length && outdated.length === 0
    if (isComplete) conditions.set('Ready', true, 'Replicated', `All ${targets.length} namespaces have a copy`)
    else conditions.set('Ready', false, 'CopiesMissing', `${copies.length} of ${targets.length} namespaces have a copy`)
    const desired = targets.filter((namespace) => !outdated.includes(namespace))
    return { children: desired.map((namespace) => buildCopy(source, namespace, original)) }
  },
)
