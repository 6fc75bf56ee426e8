import { describe, expect, test } from 'vitest'
import { type AccessRule, findMissing, formatRules, type Need } from './access-rules.ts'

const need: Need = { group: 'example.com', resource: 'widgets', verbs: ['list', 'watch', 'patch'] }
const rule: AccessRule = { apiGroups: ['example.com'], resources: ['widgets'], verbs: ['list', 'watch', 'patch'] }

describe('what is missing', () => {
  test.each<[string, readonly AccessRule[], readonly string[]]>([
    ['nothing, where a rule says it all', [rule], []],
    [
      'nothing, where several rules do',
      [
        { ...rule, verbs: ['list', 'watch'] },
        { ...rule, verbs: ['patch'] },
      ],
      [],
    ],
    ['nothing, where all verbs are allowed', [{ ...rule, verbs: ['*'] }], []],
    ['nothing, where everything is', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }], []],
    ['all, without rules', [], ['list', 'watch', 'patch']],
    ['the verb that no rule has', [{ ...rule, verbs: ['list', 'watch'] }], ['patch']],
    ['all, where the group is another', [{ ...rule, apiGroups: [''] }], ['list', 'watch', 'patch']],
    ['all, where the resource is another', [{ ...rule, resources: ['widgets/status'] }], ['list', 'watch', 'patch']],
    ['all, where it is for some objects only', [{ ...rule, resourceNames: ['one'] }], ['list', 'watch', 'patch']],
    ['nothing, where the list of names is empty', [{ ...rule, resourceNames: [] }], []],
  ])('%s', (_what, rules, verbs) => {
    expect(findMissing([need], rules)).toEqual(verbs.length === 0 ? [] : [{ ...need, verbs }])
  })
})

test('rules are written as YAML, one for all resources with the same verbs', () => {
  const others: Need[] = [
    { group: 'example.com', resource: 'gadgets', verbs: ['list', 'watch', 'patch'] },
    { group: 'example.com', resource: 'gadgets', verbs: ['list', 'watch', 'patch'] },
    { group: '', resource: 'events', verbs: ['create'] },
  ]
  expect(formatRules([need, ...others])).toBe(
    'rules: [{apiGroups: ["example.com"], resources: ["widgets", "gadgets"], verbs: ["list", "watch", "patch"]}, ' +
      '{apiGroups: [""], resources: ["events"], verbs: ["create"]}]',
  )
})
