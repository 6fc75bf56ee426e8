/** Random sequences of commands. Everything comes from small pools, so that commands meet the same objects again and again. */
import fc from 'fast-check'
import type { Tree } from '../../../support/answers.ts'
import type { Command } from './commands.ts'
import * as pools from './fragment-pools.ts'
import { type ResourceName, types } from './fuzzed-resources.ts'
import { mergeTrees } from './merge-trees.ts'

const resource: fc.Arbitrary<ResourceName> = fc.oneof(
  { weight: 4, arbitrary: fc.constant('widgets' as const) },
  { weight: 3, arbitrary: fc.constant('configmaps' as const) },
  { weight: 1, arbitrary: fc.constant('widgets.v2' as const) },
  { weight: 2, arbitrary: fc.constant('gizmos' as const) },
)

const name: fc.Arbitrary<string> = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('a', 'b', 'c') },
  { weight: 1, arbitrary: fc.constantFrom('@', 'never-made', 'Wrong_Name') },
)

const wildKey = fc.oneof(
  fc.string({ maxLength: 4 }),
  fc.constantFrom('__proto__', 'constructor', 'toString', 'a.b', '~1', ''),
)

/** Arbitrary JSON, in fields that accept any value. */
const wild: fc.Arbitrary<Tree> = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }).map((free) => ({ spec: { free } })),
  fc.dictionary(wildKey, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }).map((free) => ({ spec: { free } })),
  fc.dictionary(wildKey, fc.string(), { maxKeys: 2 }).map((annotations) => ({ metadata: { annotations } })),
  fc.dictionary(wildKey, fc.string({ maxLength: 5 }), { maxKeys: 2 }).map((labels) => ({ metadata: { labels } })),
  fc.dictionary(wildKey, fc.string(), { maxKeys: 2 }).map((data) => ({ data })),
)

/** A few of the fragments, merged one after the other. */
function some(fragments: readonly Tree[], maxLength: number): fc.Arbitrary<Tree> {
  const fragment = fc.oneof({ weight: 30, arbitrary: fc.constantFrom(...fragments) }, { weight: 1, arbitrary: wild })
  return merged(fragment, maxLength)
}

function merged(fragment: fc.Arbitrary<Tree>, maxLength: number): fc.Arbitrary<Tree> {
  return fc.array(fragment, { maxLength }).map((parts) => parts.reduce((whole, part) => mergeTrees(whole, part), {}))
}

/** Mostly an empty query; sometimes one or two options of the pool. */
function query(options: ReadonlyArray<Readonly<Record<string, string>>>): fc.Arbitrary<Record<string, string>> {
  const chosen = fc.array(fc.constantFrom(...options), { minLength: 1, maxLength: 2 })
  const special = chosen.map((parts) => Object.assign({}, ...parts) as Record<string, string>)
  return fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: special })
}

/** Bodies of commands to an object or a subresource. */
function changes(
  of: ResourceName,
  { subresource }: { subresource?: string },
  more: readonly Tree[] = [],
): fc.Arbitrary<Tree> {
  if (subresource !== undefined) return merged(fc.constantFrom(...pools.statusFragments(fragmentsOf(of)), ...more), 3)
  return some([...fragmentsOf(of), ...pools.removals, ...pools.managedFragments, ...more], 3)
}

function fragmentsOf(of: ResourceName): readonly Tree[] {
  const own = of === 'configmaps' ? pools.configMapFragments : pools.customFragments
  const owners = of === 'configmaps' ? pools.ownerFragments : []
  return [...pools.metadataFragments, ...pools.metadataFragments, ...owners, ...own, ...own, ...pools.oddFragments]
}

const creation: fc.Arbitrary<Command> = resource.chain((of) =>
  fc
    .record({
      name,
      isGenerated: fc.integer({ min: 0, max: 9 }),
      rest: some(fragmentsOf(of), 3),
      query: query(pools.writeQueries),
    })
    .map(({ name: own, isGenerated, rest, query: parameters }) => {
      const identity = isGenerated === 0 ? { generateName: 'gen-' } : { name: own }
      const base: Tree = { ...types[of], metadata: identity, ...(of === 'gizmos' ? { spec: { size: 1 } } : {}) }
      return { method: 'POST', resource: of, query: parameters, body: mergeTrees(base, rest) } as const
    }),
)

const representation: fc.Arbitrary<Pick<Command, 'as'>> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.constantFrom({ as: 'Table' }, { as: 'PartialObjectMetadata' }, { as: 'PartialObjectMetadataList' }),
  },
)

const reading: fc.Arbitrary<Command> = fc
  .record({ resource, name, query: query(pools.getQueries), form: representation })
  .map(({ form, ...parts }) => ({ method: 'GET', ...parts, ...form }))

const listing: fc.Arbitrary<Command> = fc
  .record({ resource, query: query(pools.listQueries), form: representation })
  .map(({ form, ...parts }) => ({ method: 'GET', ...parts, ...form }))

function part(of: ResourceName): fc.Arbitrary<{ subresource?: string }> {
  const plain = { weight: 4, arbitrary: fc.constant({}) }
  const isWithStatus = of === 'widgets' || of === 'widgets.v2'
  return fc.oneof(plain, { weight: isWithStatus ? 3 : 1, arbitrary: fc.constant({ subresource: 'status' }) })
}

const partOfObject: fc.Arbitrary<{ of: ResourceName; part: { subresource?: string } }> = resource.chain((of) =>
  part(of).map((chosen) => ({ of, part: chosen })),
)

const replacement: fc.Arbitrary<Command> = partOfObject.chain(({ of, part: chosen }) =>
  fc
    .record({
      name,
      version: fc.constantFrom<Tree>(
        {},
        {},
        {},
        { metadata: { resourceVersion: '<old:>' } },
        { metadata: { resourceVersion: null } },
      ),
      rest: changes(of, chosen),
      query: query(pools.writeQueries),
    })
    .map(({ name: own, version, rest, query: parameters }) => ({
      method: 'PUT' as const,
      resource: of,
      name: own,
      ...chosen,
      query: parameters,
      body: { $read: own, ...renamed(mergeTrees(version, rest), own) },
    })),
)

/** Puts the object's own name where a fragment refers to it. */
function renamed(tree: Tree, own: string): Tree {
  return JSON.parse(JSON.stringify(tree).replaceAll(/<(uid|rv|old):>/g, `<$1:${own}>`)) as Tree
}

const mergePatch: fc.Arbitrary<Command> = partOfObject.chain(({ of, part: chosen }) =>
  fc
    .record({
      name,
      rest: changes(of, chosen, pools.preconditions),
      query: query(pools.writeQueries),
    })
    .map(({ name: own, rest, query: parameters }) => ({
      method: 'PATCH' as const,
      patch: 'merge' as const,
      resource: of,
      name: own,
      ...chosen,
      query: parameters,
      body: renamed(rest, own),
    })),
)

const jsonPatch: fc.Arbitrary<Command> = partOfObject.chain(({ of, part: chosen }) =>
  fc
    .record({
      name,
      operations: fc.array(fc.constantFrom(...pools.operations), { minLength: 1, maxLength: 3 }),
      query: query(pools.writeQueries),
    })
    .map(({ name: own, operations, query: parameters }) => ({
      method: 'PATCH' as const,
      patch: 'json' as const,
      resource: of,
      name: own,
      ...chosen,
      query: parameters,
      body: operations,
    })),
)

/**
 * The real API server stores empty values in the metadata of an applied custom resource without showing them, which changes the
 * resourceVersion of the next update. Such metadata is filtered out.
 */
function applied(of: ResourceName, chosen: { subresource?: string }): fc.Arbitrary<Tree> {
  const shown = changes(of, chosen, pools.appliedFragments)
  return of === 'configmaps' ? shown : shown.filter((tree) => !/:(\[\]|\{\}|null)/.test(metadataText(tree)))
}

function metadataText({ metadata = {} }: Tree): string {
  const { managedFields: _, ...rest } = metadata as Tree
  return JSON.stringify(rest)
}

/** Applied configurations of few managers, so that several managers own the same fields. */
const application: fc.Arbitrary<Command> = partOfObject.chain(({ of, part: chosen }) =>
  fc
    .record({
      name,
      rest: applied(of, chosen),
      query: fc.constantFrom(...pools.applyQueries),
      more: query(pools.writeQueries),
    })
    .map(({ name: own, rest, query: parameters, more }) => ({
      method: 'PATCH' as const,
      patch: 'apply' as const,
      resource: of,
      name: own,
      ...chosen,
      query: { ...more, ...parameters },
      body: renamed(mergeTrees({ ...types[of], metadata: { name: own } }, rest), own),
    })),
)

const deletion: fc.Arbitrary<Command> = resource.chain((of) =>
  fc
    .record({
      name,
      // The garbage collector of the real API server learns of custom kinds only after half a minute, so it gets ConfigMaps only.
      options: fc.constantFrom(
        ...pools.deletions,
        ...(of === 'configmaps' ? pools.collectedDeletions : pools.dryDeletions),
      ),
    })
    .map(({ name: own, options }) => ({
      method: 'DELETE' as const,
      resource: of,
      name: own,
      ...withOwnName(options, own),
    })),
)

function withOwnName(options: pools.DeletionOptions, own: string): pools.DeletionOptions {
  return options.body === undefined ? options : { ...options, body: renamed(options.body as Tree, own) }
}

const deletionOfMany: fc.Arbitrary<Command> = fc
  .record({ resource, query: fc.constantFrom(...pools.collectionDeletions) })
  .map((parts) => ({ method: 'DELETE', ...parts }))

const watching: fc.Arbitrary<Command> = fc
  .record({ resource, query: fc.constantFrom(...pools.watchQueries), form: representation })
  .map(({ form, ...parts }) => ({ method: 'WATCH', ...parts, ...form }))

const raw: fc.Arbitrary<Command> = fc
  .record({
    resource,
    name,
    method: fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE'),
    body: fc.constantFrom(...pools.texts),
    patch: fc.constantFrom('merge', 'json'),
  })
  .map(({ resource: of, name: own, method, body, patch }) => ({
    method,
    resource: of,
    body,
    ...(method === 'POST' ? {} : { name: own }),
    ...(method === 'PATCH' ? { patch } : {}),
  }))

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 8, arbitrary: creation },
  { weight: 2, arbitrary: reading },
  { weight: 4, arbitrary: listing },
  { weight: 5, arbitrary: replacement },
  { weight: 5, arbitrary: mergePatch },
  { weight: 4, arbitrary: jsonPatch },
  { weight: 10, arbitrary: application },
  { weight: 4, arbitrary: deletion },
  { weight: 1, arbitrary: deletionOfMany },
  { weight: 2, arbitrary: watching },
  { weight: 1, arbitrary: raw },
)

/** Owners and dependents, for the garbage collectors. */
const familyCommand: fc.Arbitrary<Command> = fc.oneof(
  { weight: 8, arbitrary: familyCreation() },
  { weight: 3, arbitrary: familyChange() },
  { weight: 5, arbitrary: familyDeletion() },
  { weight: 1, arbitrary: watching.map((each) => ({ ...each, resource: 'configmaps' as const })) },
)

function familyCreation(): fc.Arbitrary<Command> {
  const fragments = [...pools.ownerFragments, ...pools.ownerFragments, ...pools.finalizerFragments, {}, {}]
  return fc.record({ own: fc.constantFrom('a', 'b', 'c', 'd'), rest: some(fragments, 2) }).map(({ own, rest }) => {
    const body = mergeTrees({ ...types.configmaps, metadata: { name: own } }, rest)
    return { method: 'POST', resource: 'configmaps', body }
  })
}

function familyChange(): fc.Arbitrary<Command> {
  const fragments = [...pools.ownerFragments, ...pools.finalizerFragments, ...pools.removals]
  return fc.record({ own: fc.constantFrom('a', 'b', 'c', 'd'), body: some(fragments, 2) }).map(({ own, body }) => {
    return { method: 'PATCH', patch: 'merge', resource: 'configmaps', name: own, body }
  })
}

function familyDeletion(): fc.Arbitrary<Command> {
  const options = [{}, {}, { query: { propagationPolicy: 'Background' } }, ...pools.collectedDeletions]
  return fc
    .record({ own: fc.constantFrom('a', 'b', 'c', 'd'), rest: fc.constantFrom(...options) })
    .map(({ own, rest }) => {
      return { method: 'DELETE', resource: 'configmaps', name: own, ...rest }
    })
}

export function families(maxLength: number): fc.Arbitrary<Command[]> {
  return fc.array(familyCommand, { minLength: 2, maxLength, size: 'max' })
}

/** Every generated name has a prefix of its own, so that lists have the same order on both servers. */
export function sequences(maxLength: number): fc.Arbitrary<Command[]> {
  return fc
    .array(command, { minLength: 1, maxLength, size: 'max' })
    .map((commands) =>
      commands.map((each, index) => JSON.parse(JSON.stringify(each).replaceAll('"gen-"', `"gen${index}-"`)) as Command),
    )
}
