import { describe, expect, test } from 'vitest'
import type { WebhookRule } from '../builtins/kinds/webhooks.ts'
import type { ApiResource } from '../resource.ts'
import { labelSelectorFromObject } from '../selectors.ts'
import type { Hook } from './hooks.ts'
import { isExempt, isSelected, matchHook } from './match.ts'

const resource = (group: string, version: string, plural: string): ApiResource =>
  ({ group, version, plural, kind: 'Widget' }) as ApiResource

const widgets = resource('example.com', 'v1', 'widgets')
const newer = resource('example.com', 'v2', 'widgets')
const namespaces = resource('', 'v1', 'namespaces')

const hook = (rules: readonly WebhookRule[], more: Partial<Hook> = {}): Hook =>
  ({ rules, isExact: false, ...more }) as Hook

const rule = (more: WebhookRule = {}): WebhookRule => ({
  operations: ['*'],
  apiGroups: ['*'],
  apiVersions: ['*'],
  resources: ['*'],
  ...more,
})

describe('a rule matches', () => {
  const subject = { operation: 'CREATE', resource: widgets, subresource: '', namespace: 'default' } as const

  test.each<[string, WebhookRule, boolean]>([
    ['everything', {}, true],
    ['the operation', { operations: ['CREATE', 'DELETE'] }, true],
    ['another operation', { operations: ['UPDATE'] }, false],
    ['the group', { apiGroups: ['example.com'] }, true],
    ['another group', { apiGroups: ['', 'apps'] }, false],
    ['the version', { apiVersions: ['v1'] }, true],
    ['another version', { apiVersions: ['v3'] }, false],
    ['the resource', { resources: ['widgets'] }, true],
    ['the resource and whatever it has', { resources: ['widgets/*'] }, true],
    ['whatever there is', { resources: ['*/*'] }, true],
    ['a subresource', { resources: ['widgets/status', '*/scale'] }, false],
    ['another resource', { resources: ['gadgets', 'gadgets/*'] }, false],
    ['no resource', { resources: [] }, false],
    ['any scope', { scope: '*' }, true],
    ['the scope', { scope: 'Namespaced' }, true],
    ['another scope', { scope: 'Cluster' }, false],
  ])('%s', (_, given, isMatch) => {
    expect(matchHook(hook([rule(given)]), subject, []) !== undefined).toBe(isMatch)
  })

  test.each<[string, boolean]>([
    ['widgets', false],
    ['widgets/status', true],
    ['widgets/*', true],
    ['*/status', true],
    ['*/*', true],
    ['*', false],
    ['widgets/scale', false],
  ])('a subresource: %s', (pattern, isMatch) => {
    const given = hook([rule({ resources: [pattern] })])
    expect(matchHook(given, { ...subject, subresource: 'status' }, []) !== undefined).toBe(isMatch)
  })

  test('a namespace as what is in none', () => {
    const inside = { ...subject, resource: namespaces, namespace: 'mine' }
    expect(matchHook(hook([rule({ scope: 'Cluster' })]), inside, [])).toBeDefined()
    expect(matchHook(hook([rule({ scope: 'Namespaced' })]), inside, [])).toBeUndefined()
  })

  test('its own version first, whatever the order of the rules', () => {
    const given = hook([rule({ apiVersions: ['v2'] }), rule({ apiVersions: ['v1'] })])
    expect(matchHook(given, subject, [newer])?.target).toBe(widgets)
  })

  test('other versions where that is wished', () => {
    const rules = [rule({ apiVersions: ['v2'] })]
    expect(matchHook(hook(rules), subject, [newer])?.target).toBe(newer)
    expect(matchHook(hook(rules, { isExact: true }), subject, [newer])).toBeUndefined()
  })
})

describe('an object is selected', () => {
  const selector = (matchLabels: object) => labelSelectorFromObject({ matchLabels })
  const by = (object: object, namespace: object): Hook =>
    hook([], { objectSelector: selector(object), namespaceSelector: selector(namespace) })
  const labels = { a: 'b' }

  test.each([
    ['by selectors that ask for nothing', by({}, {}), true],
    ['by its labels', by(labels, {}), true],
    ['by the labels of its namespace', by({}, { in: 'it' }), true],
    ['not by one without the other', by(labels, { in: 'another' }), false],
    ['not by other labels', by({ a: 'c' }, {}), false],
  ])('%s', (_, given, isMatch) => {
    expect(isSelected(given, { object: labels, old: undefined, namespace: () => ({ in: 'it' }) })).toBe(isMatch)
  })

  test('by the labels that it had', () => {
    expect(isSelected(by(labels, {}), { object: {}, old: labels, namespace: undefined })).toBe(true)
    expect(isSelected(by(labels, {}), { object: undefined, old: labels, namespace: undefined })).toBe(true)
  })

  test('by any selector of namespaces where it is in none', () => {
    expect(isSelected(by({}, { in: 'it' }), { object: {}, old: undefined, namespace: undefined })).toBe(true)
  })
})

test('configurations of webhooks are exempt', () => {
  const group = 'admissionregistration.k8s.io'
  const kinds = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration', 'Other']
  expect(kinds.map((kind) => isExempt({ group, kind } as ApiResource))).toEqual([true, true, false])
  expect(isExempt({ group: 'example.com', kind: 'MutatingWebhookConfiguration' } as ApiResource)).toBe(false)
})
