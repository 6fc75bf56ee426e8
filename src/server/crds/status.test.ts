import { describe, expect, test } from 'vitest'
import type { CrdNames, CustomResourceDefinition } from './definition.ts'
import { crdStatus } from './status.ts'

const now = new Date('2024-05-01T10:00:00.500Z')
const time = '2024-05-01T10:00:00Z'
const widgetNames: CrdNames = {
  plural: 'widgets',
  singular: 'widget',
  shortNames: ['wd'],
  kind: 'Widget',
  listKind: 'WidgetList',
}

function crd(
  names: CrdNames,
  group = 'example.com',
  annotations: Record<string, string> = {},
): CustomResourceDefinition {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${names.plural}.${group}`, annotations },
    spec: { group, names, scope: 'Namespaced', versions: [{ name: 'v1', served: true, storage: true }] },
    status: { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: ['v1'] },
  }
}

function withStatus(
  definition: CustomResourceDefinition,
  others: CustomResourceDefinition[] = [],
): CustomResourceDefinition {
  return { ...definition, status: crdStatus(definition, others, now) }
}

describe('the status of a CRD', () => {
  test('accepts free names and establishes', () => {
    expect(crdStatus(crd(widgetNames), [], now)).toEqual({
      conditions: [
        {
          type: 'NamesAccepted',
          status: 'True',
          lastTransitionTime: time,
          reason: 'NoConflicts',
          message: 'no conflicts found',
        },
        {
          type: 'Established',
          status: 'True',
          lastTransitionTime: time,
          reason: 'InitialNamesAccepted',
          message: 'the initial names have been accepted',
        },
      ],
      acceptedNames: widgetNames,
      storedVersions: ['v1'],
    })
  })

  test('is the same object where nothing changes, however late', () => {
    const established = withStatus(crd(widgetNames))
    expect(crdStatus(established, [established], new Date(now.getTime() + 60_000))).toBe(established.status)
  })

  test.each<[string, CrdNames, string, string, CrdNames]>([
    [
      'ShortNamesConflict',
      {
        plural: 'gadgets',
        singular: 'gadget',
        shortNames: ['wd', 'gd', 'widget'],
        kind: 'Gadget',
        listKind: 'GadgetList',
      },
      'ShortNamesConflict',
      '["wd" is already in use, "widget" is already in use]',
      { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' },
    ],
    [
      'KindConflict',
      { plural: 'gadgets', singular: 'gadget', kind: 'Widget', listKind: 'GadgetList' },
      'KindConflict',
      '"Widget" is already in use',
      { plural: 'gadgets', singular: 'gadget', kind: '', listKind: 'GadgetList' },
    ],
    [
      'the last of several conflicts',
      { plural: 'wd', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      'ListKindConflict',
      '"WidgetList" is already in use',
      { plural: '', kind: '' },
    ],
  ])('says %s of names that another one has', (_, names, reason, message, accepted) => {
    const status = crdStatus(crd(names), [withStatus(crd(widgetNames))], now)
    expect(status.acceptedNames).toEqual(accepted)
    expect(status.conditions).toEqual([
      { type: 'NamesAccepted', status: 'False', lastTransitionTime: time, reason, message },
      {
        type: 'Established',
        status: 'False',
        lastTransitionTime: time,
        reason: 'NotAccepted',
        message: 'not all names are accepted',
      },
    ])
  })

  test('lets other groups have the same names', () => {
    const status = crdStatus(crd(widgetNames, 'other.example.com'), [withStatus(crd(widgetNames))], now)
    expect(status.acceptedNames).toEqual(widgetNames)
  })

  test('gets its names when the other one is gone', () => {
    const waiting = withStatus(crd({ ...widgetNames, plural: 'gadgets' }), [withStatus(crd(widgetNames))])
    expect(waiting.status.conditions?.map(({ status }) => status)).toEqual(['False', 'False'])
    expect(withStatus(waiting).status.conditions?.map(({ reason }) => reason)).toEqual([
      'NoConflicts',
      'InitialNamesAccepted',
    ])
  })

  test('stays established when it asks for a name that is taken', () => {
    const established = withStatus(crd(widgetNames))
    const other = withStatus(crd({ plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' }))
    const changed = { ...established, spec: { ...established.spec, names: { ...widgetNames, singular: 'gadget' } } }
    const status = crdStatus(changed, [other, established], now)
    expect(status.acceptedNames.singular).toBe('widget')
    expect(status.conditions?.map((one) => [one.type, one.status])).toEqual([
      ['NamesAccepted', 'False'],
      ['Established', 'True'],
    ])
  })

  test('keeps the time of a condition until its status changes', () => {
    const established = withStatus(crd(widgetNames))
    const renamed = { ...established, spec: { ...established.spec, names: { ...widgetNames, categories: ['all'] } } }
    const status = crdStatus(renamed, [], new Date('2025-01-01T00:00:00Z'))
    expect(status.acceptedNames.categories).toEqual(['all'])
    expect(status.conditions?.map((one) => one.lastTransitionTime)).toEqual([time, time])
  })

  test.each([
    ['unapproved, a test', 'False', 'UnapprovedAnnotation', 'not approved: "unapproved, a test"'],
    [
      'https://github.com/kubernetes/enhancements/pull/1',
      'True',
      'ApprovedAnnotation',
      'approved in https://github.com/kubernetes/enhancements/pull/1',
    ],
  ])('tells of the approval %s in a protected group', (approval, state, reason, message) => {
    const status = crdStatus(crd(widgetNames, 'x.k8s.io', { 'api-approved.kubernetes.io': approval }), [], now)
    const type = 'KubernetesAPIApprovalPolicyConformant'
    expect(status.conditions?.[2]).toEqual({ type, status: state, lastTransitionTime: time, reason, message })
  })

  test('is not established with certificates that are none', () => {
    const definition = crd(widgetNames)
    const clientConfig = { url: 'https://a.example.com', caBundle: 'eHg=' }
    definition.spec.conversion = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } }
    const established = crdStatus(definition, [], now).conditions?.[1]
    expect(established).toMatchObject({ status: 'False', reason: 'InvalidCABundle' })
  })
})
