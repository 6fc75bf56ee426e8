/**
 * Each traversal of an object takes time in proportion to its size in any shape, and does not recurse: the API server accepts
 * 10,000 levels, and the author of an object decides. Each traversal has a row in the table.
 */
import { describe, test } from 'vitest'
import { concealSecret } from '../../src/causation/conceal-secrets.ts'
import { diffEssences, diffValues, isSame, reduceDiff } from '../../src/causation/diff.ts'
import { buildEssence, digestEssence } from '../../src/causation/essence.ts'
import { revealSecret } from '../../src/causation/reveal-secrets.ts'
import type { JsonObject, KubeObject } from '../../src/kube/objects.ts'
import { describeDiff } from '../../src/objects/describe.ts'
import { mergeInto, toPlainJson } from '../../src/patching/patch.ts'
import { planEdits, planObjectPatch, planStatusPatch } from '../../src/patching/plan-patch.ts'
import { AnnotationsDiffBaseStorage } from '../../src/persistence/diffbase-storage.ts'
import { AnnotationsProgressStorage } from '../../src/persistence/progress-storage.ts'
import { findSecret } from '../../src/steps/secret-detection.ts'
import { cloneJson, isDeepEqual } from '../../src/util/json/deep-equal.ts'
import { deepFreeze } from '../../src/util/json/deep-freeze.ts'
import type { Json } from '../../src/util/json/json.ts'
import { toJsonPatch } from '../../src/util/json/json-patch.ts'
import { isDeeperThan } from '../../src/util/json/json-size.ts'
import { parseJsonText, toAsciiJsonText, toJsonText } from '../../src/util/json/json-text.ts'
import { applyMergePatch, changesAnything, pickNamed, withoutIdleRemovals } from '../../src/util/json/merge-patch.ts'
import { canClone, serializeArgs } from '../../src/workers/serialize-args.ts'
import { expectLinearGrowth, nest, widen } from '../support/growth.ts'

type Shape = (n: number, value: Json) => JsonObject

/** Nested objects, each with one more field beside the next level. */
function ladder(levels: number, value: Json): JsonObject {
  let inner: JsonObject = { x: value }
  for (let level = 1; level < levels; level += 1) inner = { x: value, a: inner }
  return inner
}

/** The largest size is four times as much: 10,000 levels, fields or items. */
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

/** The arguments of a handler in a thread, from the stored and the current content of a Secret. */
function showSecret(before: JsonObject, now: JsonObject, { metadata }: KubeObject): unknown {
  const body = { apiVersion: 'v1', kind: 'Secret', metadata, data: now, spec: now }
  const [old, current] = [
    { data: before, spec: before },
    { data: now, spec: now },
  ].map((one) => concealSecret(one, body))
  const revealed = revealSecret({ old, new: current!, diff: diffEssences(old, current!) }, { body })
  return [isSame(revealed.old, revealed.new), serializeArgs({ body, ...revealed })]
}

const walks: Readonly<Record<string, (states: States) => unknown>> = {
  'diffing two states': ({ old, now }) => diffValues(old, now),
  'diffing a field': ({ old, now }) => reduceDiff(diffValues({ a: old }, { a: now }), ['a', 'a']),
  'comparing a field': ({ old, now }) => isSame(old, now),
  'showing a Secret to a handler in a thread': ({ old, now, body }) => showSecret(old, now, body),
  'building the essence of a body': ({ body }) => buildEssence(body),
  'digesting an essence': ({ now }) => digestEssence(now),
  'storing the last handled state': ({ body, now }) => diffbase.store({ body, patch: {}, essence: now }),
  'clearing the progress from an essence': ({ now }) => progress.clear({ essence: now }),
  'finding signs of secrets': ({ now, body }) => findSecret(now, body),
  'converting a result to plain JSON': ({ now }) => toPlainJson(now),
  'merging two patches': ({ old, now }) => mergeInto(cloneJson(old), now),
  'planning a patch of the object': ({ body, now }) => planObjectPatch(body, { merge: { spec: now }, fns: [] }, true),
  'planning a patch of the status': ({ body, now }) => planStatusPatch(body, { merge: { status: now }, fns: [] }),
  'planning the edits of a function': ({ body, now }) =>
    toJsonText(planEdits(body, { merge: {}, fns: [(copy) => Object.assign(copy, { spec: now })] })),
  'writing a JSON patch': ({ old, now }) => toJsonText(toJsonPatch(old, now)),
  'applying a merge patch': ({ old, now }) => applyMergePatch(old, now),
  'checking whether a merge patch changes anything': ({ old, now }) => changesAnything(old, now),
  'picking the fields that a patch names': ({ old, now }) => pickNamed(old, now),
  'leaving out idle removals': ({ old, now }) => withoutIdleRemovals(old, now),
  'leaving out removals of missing fields': ({ now }) => withoutIdleRemovals({}, now),
  'comparing two equal states': ({ now }) => isDeepEqual(now, cloneJson(now)),
  'freezing a copy': ({ now }) => deepFreeze(cloneJson(now)),
  'writing and reading JSON': ({ now }) => parseJsonText(toJsonText(now)),
  'writing and reading JSON with large integers': ({ now }) => parseJsonText(toJsonText({ big: 2n ** 60n, now })),
  'writing ASCII': ({ now }) => toAsciiJsonText(now),
  'measuring the depth of a text': ({ now }) => isDeeperThan(toJsonText(now), 1000),
  'describing a diff for the log': ({ old, now }) => describeDiff(diffValues(old, now)),
  'checking whether a body can be cloned to a thread': ({ body }) => canClone(body),
}

describe.each(Object.entries(walks))('%s', (name, walk) => {
  test.each(shapes)(`the time of ${name} grows linearly with %s`, async (__, shape) => {
    await expectLinearGrowth({
      n: 2500,
      // JSON.stringify overflows the stack between the smallest and the largest depth; our replacement is slower.
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
