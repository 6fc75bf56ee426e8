/**
 * Every walk over an object costs time in proportion to it, however it is shaped, and does not recurse: the API server accepts
 * 10,000 levels, and the author of one object decides. A new walk is one more row of the table.
 */
import { describe, test } from 'vitest'
import { diffEssences, diffValues, isSame, reduceDiff } from '../../src/core/causation/diff.ts'
import { buildEssence } from '../../src/core/causation/essence.ts'
import { digestEssence } from '../../src/core/causation/essence-digest.ts'
import { revealSecret } from '../../src/core/causation/reveal.ts'
import { concealSecret } from '../../src/core/causation/secrets.ts'
import { findSecret } from '../../src/core/handling/secret-signs.ts'
import { planEdits, planObjectPatch, planStatusPatch } from '../../src/core/patching/compose.ts'
import { mergeInto, toPlainJson } from '../../src/core/patching/patch.ts'
import { AnnotationsDiffBaseStorage } from '../../src/core/persistence/diffbase-storage.ts'
import { AnnotationsProgressStorage } from '../../src/core/persistence/progress-storage.ts'
import { canClone } from '../../src/features/workers/cloning.ts'
import { packArgs } from '../../src/features/workers/packing.ts'
import type { JsonObject, KubeObject } from '../../src/kube/objects.ts'
import { describeDiff } from '../../src/running/describe.ts'
import { cloneJson, isDeepEqual } from '../../src/util/equality.ts'
import { deepFreeze } from '../../src/util/frozen.ts'
import type { Json } from '../../src/util/json.ts'
import { isDeeperThan } from '../../src/util/json-depth.ts'
import { toJsonPatch } from '../../src/util/json-diff.ts'
import { parseJsonText, toAsciiJsonText, toJsonText } from '../../src/util/json-text.ts'
import { applyMergePatch, changesAnything, pickNamed, withoutIdleRemovals } from '../../src/util/merge-patch.ts'
import { expectLinearGrowth, nest, widen } from '../support/growth.ts'

type Shape = (n: number, value: Json) => JsonObject

/** Each level has a field of its own beside the next level. */
function ladder(levels: number, value: Json): JsonObject {
  let inner: JsonObject = { x: value }
  for (let level = 1; level < levels; level += 1) inner = { x: value, a: inner }
  return inner
}

/** The largest size of each is four times as much: 10,000 levels, 10,000 fields or items. */
const shapes: ReadonlyArray<readonly [string, Shape]> = [
  ['depth', ladder],
  [
    'lists in lists',
    (n, value) => ({ a: JSON.parse(`${'['.repeat(n)}${JSON.stringify(value)}${']'.repeat(n)}`) as Json }),
  ],
  ['width', (n, value) => widen(n, { value }) as JsonObject],
  ['width below depth', (n, value) => nest(n / 2, widen(n, { value })) as JsonObject],
  ['width below a long key', (n, value) => ({ ['k'.repeat(20 * n)]: widen(n, { value }) }) as JsonObject],
  [
    'the length of a list',
    (n, value) => ({ a: Array.from({ length: n }, (_, index) => ({ index, value })) }) as JsonObject,
  ],
  ['the length of a text', (n, value) => ({ a: `${String(value)}eyJ-`.repeat(4 * n) })],
]

interface States {
  readonly old: JsonObject
  readonly now: JsonObject
  readonly body: KubeObject
}

const diffbase = new AnnotationsDiffBaseStorage()
const progress = new AnnotationsProgressStorage()

/** From the stored and the present content of a Secret to the arguments of a handler. */
function showSecret(before: JsonObject, now: JsonObject, { metadata }: KubeObject): unknown {
  const body = { apiVersion: 'v1', kind: 'Secret', metadata, data: now, spec: now }
  const [old, current] = [
    { data: before, spec: before },
    { data: now, spec: now },
  ].map((one) => concealSecret(one, body))
  const revealed = revealSecret({ old, new: current!, diff: diffEssences(old, current!) }, { body })
  return [isSame(revealed.old, revealed.new), packArgs({ body, ...revealed })]
}

const walks: Readonly<Record<string, (states: States) => unknown>> = {
  'the diff of two states': ({ old, now }) => diffValues(old, now),
  'the diff of a field': ({ old, now }) => reduceDiff(diffValues({ a: old }, { a: now }), ['a', 'a']),
  'whether a field has changed': ({ old, now }) => isSame(old, now),
  'what a handler in a thread gets of a Secret with strange content': ({ old, now, body }) =>
    showSecret(old, now, body),
  'the essence of a body': ({ body }) => buildEssence(body),
  'the digest of an essence': ({ now }) => digestEssence(now),
  'storing the last handled state': ({ body, now }) => diffbase.store({ body, patch: {}, essence: now }),
  'clearing the progress from an essence': ({ now }) => progress.clear({ essence: now }),
  'signs of secrets': ({ now, body }) => findSecret(now, body),
  'plain JSON of a result': ({ now }) => toPlainJson(now),
  'merging two patches': ({ old, now }) => mergeInto(cloneJson(old), now),
  'a patch of the object': ({ body, now }) => planObjectPatch(body, { merge: { spec: now }, fns: [] }, true),
  'a patch of the status': ({ body, now }) => planStatusPatch(body, { merge: { status: now }, fns: [] }),
  'the edits of a function': ({ body, now }) =>
    toJsonText(planEdits(body, { merge: {}, fns: [(copy) => Object.assign(copy, { spec: now })] })),
  'a JSON patch as text': ({ old, now }) => toJsonText(toJsonPatch(old, now)),
  'applying a merge patch': ({ old, now }) => applyMergePatch(old, now),
  'whether a merge patch changes anything': ({ old, now }) => changesAnything(old, now),
  'picking what a patch names': ({ old, now }) => pickNamed(old, now),
  'leaving out idle removals': ({ old, now }) => withoutIdleRemovals(old, now),
  'leaving out removals of what is not there': ({ now }) => withoutIdleRemovals({}, now),
  'comparing two equal states': ({ now }) => isDeepEqual(now, cloneJson(now)),
  'freezing a copy': ({ now }) => deepFreeze(cloneJson(now)),
  'writing and reading JSON': ({ now }) => parseJsonText(toJsonText(now)),
  'writing and reading JSON with large integers': ({ now }) => parseJsonText(toJsonText({ big: 2n ** 60n, now })),
  'writing ASCII': ({ now }) => toAsciiJsonText(now),
  'the depth of a text': ({ now }) => isDeeperThan(toJsonText(now), 1000),
  'a diff in the debug log': ({ old, now }) => describeDiff(diffValues(old, now)),
  'whether a body can cross to a thread': ({ body }) => canClone(body),
}

describe.each(Object.entries(walks))('%s grows linearly', (_, walk) => {
  test.each(shapes)('with %s', async (__, shape) => {
    await expectLinearGrowth({
      n: 2500,
      // The writer of JSON that comes with JavaScript gives up between the smallest and the largest depth; ours is slower.
      maxRatio: 12,
      prepare: (n) => {
        const [old, now] = [shape(n, 'x'), shape(n, 'y')]
        const metadata = { name: 'a', uid: 'u', resourceVersion: '1' }
        return { old, now, body: { apiVersion: 'example.com/v1', kind: 'Widget', metadata, spec: old, status: old } }
      },
      run: (states) => void walk(states as unknown as States),
    })
  })
})
