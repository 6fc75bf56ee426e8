/** Notations of resources and the resources they select in a cluster. */
import { describe, expect, test } from 'vitest'
import { KopfError } from '../../errors.ts'
import { defineResource, type Resource, type ResourceLike, resource } from './resources.ts'
import { EVERYTHING } from './selector-notations.ts'
import { formatResource, sameResource, selectResources, toSelector } from './selectors.ts'

function served(group: string, version: string, plural: string, more: Partial<Resource> = {}): Resource {
  const singular = plural.replace(/s$/, '')
  const kind = singular.charAt(0).toUpperCase() + singular.slice(1)
  const names = { kind, singular, shortcuts: [], categories: [], subresources: [] }
  return { group, version, plural, ...names, namespaced: true, preferred: true, verbs: [], ...more }
}

const examples = served('kopf.dev', 'v1', 'kopfexamples', {
  kind: 'KopfExample',
  shortcuts: ['kex'],
  categories: ['all'],
})
const oldExamples = { ...examples, version: 'v1beta1', preferred: false }
const pods = served('', 'v1', 'pods', { shortcuts: ['po'], categories: ['all'] })
const podMetrics = served('metrics.k8s.io', 'v1beta1', 'pods', { kind: 'PodMetrics', singular: '' })
const deployments = served('apps', 'v1', 'deployments', { categories: ['all'] })
const events = served('', 'v1', 'events')
const newEvents = served('events.k8s.io', 'v1', 'events')
const cluster = [examples, oldExamples, pods, podMetrics, deployments, events, newEvents]

function select(notation: ResourceLike): string[] {
  return selectResources(toSelector(notation), cluster).selected.map(formatResource)
}

const kopfexamples = ['kopfexamples.v1.kopf.dev']
const everything = ['kopfexamples.v1.kopf.dev', 'pods.v1', 'pods.v1beta1.metrics.k8s.io', 'deployments.v1.apps']

describe('resource selectors', () => {
  test.each<[string, ResourceLike, string[]]>([
    ['a plural', 'kopfexamples', kopfexamples],
    ['a singular', 'kopfexample', kopfexamples],
    ['a kind', 'KopfExample', kopfexamples],
    ['a shortcut', 'kex', kopfexamples],
    ['a name in its exact case only', 'kopfExamples', []],
    ['a name, which never matches a category', 'all', []],
    ['a name and a group', 'kopfexamples.kopf.dev', kopfexamples],
    ['a name and another group', 'kopfexamples.example.com', []],
    ['a name and a group without a dot', 'deployments.apps', ['deployments.v1.apps']],
    ['a name and a version', 'kopfexamples.v1', kopfexamples],
    ['a name, a version and a group', 'kopfexamples.v1beta1.kopf.dev', ['kopfexamples.v1beta1.kopf.dev']],
    ['a name and an invalid version', 'kopfexamples.foo1.kopf.dev', []],
    ['an array of a name', ['kopfexamples.kopf.dev'], kopfexamples],
    ['group and name', ['kopf.dev', 'kopfexamples'], kopfexamples],
    ['group with version, and name', ['kopf.dev/v1beta1', 'kex'], ['kopfexamples.v1beta1.kopf.dev']],
    ['group, version and name', ['kopf.dev', 'v1', 'kopfexamples'], kopfexamples],
    ['the core version and name', ['v1', 'pods'], ['pods.v1']],
    ['the core group and name', ['', 'pods'], ['pods.v1']],
    ['the core group, version and name', ['', 'v1', 'Pod'], ['pods.v1']],
    ['the kind as a keyword', { kind: 'KopfExample' }, kopfexamples],
    [
      'the plural as a keyword',
      { group: 'kopf.dev', version: 'v1beta1', plural: 'kopfexamples' },
      ['kopfexamples.v1beta1.kopf.dev'],
    ],
    ['the singular as a keyword', { singular: 'kopfexample' }, kopfexamples],
    ['the shortcut as a keyword', { shortcut: 'po' }, ['pods.v1']],
    ['the plural given as a singular', { singular: 'pods' }, []],
    ['a category', { category: 'all' }, ['kopfexamples.v1.kopf.dev', 'pods.v1', 'deployments.v1.apps']],
    ['a category of a group', { category: 'all', group: 'apps' }, ['deployments.v1.apps']],
    ['everything', EVERYTHING, everything],
    ['everything in an array', [EVERYTHING], everything],
    ['everything of a group', ['kopf.dev', EVERYTHING], kopfexamples],
    ['everything of a version', ['kopf.dev/v1beta1', EVERYTHING], ['kopfexamples.v1beta1.kopf.dev']],
    ['everything of the core version', ['v1', EVERYTHING], ['pods.v1']],
    [
      'a function, in all versions',
      ({ group }) => group === 'kopf.dev',
      ['kopfexamples.v1.kopf.dev', 'kopfexamples.v1beta1.kopf.dev'],
    ],
    [
      'a function that accepts all resources',
      () => true,
      [...everything.slice(0, 1), 'kopfexamples.v1beta1.kopf.dev', ...everything.slice(1)],
    ],
    ['the name of the core events', ['v1', 'events'], ['events.v1']],
    ['the name of the new events', 'events.events.k8s.io', ['events.v1.events.k8s.io']],
    ['a typed resource', resource<Resource>('kopf.dev/v1', 'kopfexamples'), kopfexamples],
    ['a defined resource', defineResource({ group: 'kopf.dev', version: 'v1', kind: 'KopfExample' }), kopfexamples],
  ])('a selector gives the expected resources for %s', (_, notation, expected) => {
    expect(select(notation)).toEqual(expected)
  })
})

test('a selector prefers the core group to other groups', () => {
  expect(select('pods')).toEqual(['pods.v1'])
  expect(select('events')).toEqual(['events.v1'])
})

test('a selector with a name of several resources is ambiguous and selects nothing', () => {
  const both = [examples, { ...examples, group: 'example.com' }]
  expect(selectResources(toSelector('kopfexamples'), both)).toEqual({ selected: [], candidates: both, ambiguous: true })
  expect(selectResources(toSelector({ category: 'all' }), both)).toMatchObject({ selected: both, ambiguous: false })
  expect(selectResources(toSelector(EVERYTHING), both)).toMatchObject({ selected: both, ambiguous: false })
})

test('a selector treats two descriptions of one resource as one', () => {
  const again = { ...examples, shortcuts: [] }
  expect(selectResources(toSelector('kopfexamples'), [examples, again]).selected).toEqual([again])
  expect(sameResource(examples, again)).toBe(true)
  expect(sameResource(examples, oldExamples)).toBe(false)
})

test.each<[ResourceLike, boolean]>([
  ['pods', true],
  [{ kind: 'Pod' }, true],
  [{ shortcut: 'po' }, true],
  [{ category: 'all' }, false],
  [EVERYTHING, false],
  [['kopf.dev', EVERYTHING], false],
  [() => true, false],
])('the selector %o means one resource: %s', (notation, expected) => {
  expect(toSelector(notation).isSpecific).toBe(expected)
})

test.each<[ResourceLike, string]>([
  ['pods', 'pods'],
  ['kopfexamples.v1.kopf.dev', 'kopfexamples.v1.kopf.dev'],
  [['v1', 'pods'], 'pods.v1'],
  [['kopf.dev', 'kex'], 'kex.kopf.dev'],
  [{ kind: 'Pod', group: '' }, 'Pod'],
  [{ category: 'all', group: 'apps', version: 'v1' }, 'the category "all" of apps/v1'],
  [EVERYTHING, 'everything'],
  [['kopf.dev/v1', EVERYTHING], 'everything of kopf.dev/v1'],
  [['', EVERYTHING], 'everything of the core group'],
  [
    function isMine() {
      return true
    },
    'those of isMine()',
  ],
])('the selector %o has a readable text', (notation, expected) => {
  expect(String(toSelector(notation))).toBe(expected)
})

describe('refused selectors', () => {
  test.each<[unknown, RegExp]>([
    ['', /the name is empty/],
    ['.kopf.dev', /the name is empty/],
    ['pods.', /nothing between or after the dots/],
    ['pods..v1', /nothing between or after the dots/],
    ['pods, services', /"pods, services" is not the name of one resource/],
    ['*', /no wildcards/],
    ['kopf.dev/v1', /apart: \["kopf\.dev\/v1", "name"\]/],
    ['apps/v1', /apart: \["apps\/v1", "name"\]/],
    ['pods/status', /name the resource, "pods"/],
    [[], /a group, a version and a name at most/],
    [['a', 'b', 'c', 'd'], /a group, a version and a name at most/],
    [[EVERYTHING, 'pods'], /EVERYTHING stands in the place of the name/],
    [['kopf.dev', ''], /the name is empty/],
    [['kopf.dev', () => true], /a function stands alone/],
    [['kopf.dev', undefined], /strings only/],
    [['v1beta1', 'pods'], /write \["group\/v1beta1", "name"\]/],
    [['a/b/c', 'pods'], /neither a group nor "group\/version"/],
    [['kopf.dev/', 'pods'], /neither a group nor "group\/version"/],
    [['kopf.dev/v1', 'v1', 'pods'], /the group, the version and the name/],
    [{}, /a name is missing/],
    [{ group: 'kopf.dev' }, /\["group", EVERYTHING\]/],
    [{ kind: 'Pod', plural: 'pods' }, /kind and plural are several names/],
    [{ plural: '' }, /"plural" must not be empty/],
    [{ name: 'pods' }, /there is no "name"/],
    [{ kind: 1 }, /"kind" is a string/],
    [undefined, /name them by a string/],
    [null, /name them by a string/],
    [1, /name them by a string/],
    [Symbol('other'), /name them by a string/],
  ])('the selector %o is refused', (notation, message) => {
    const make = () => toSelector(notation as ResourceLike)
    expect(make).toThrow(KopfError)
    expect(make).toThrow(/^Cannot select resources by /)
    expect(make).toThrow(message)
    expect(make).toThrow(expect.objectContaining({ code: 'KOPF_SELECTOR' }))
  })
})
