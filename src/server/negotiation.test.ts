import { describe, expect, test } from 'vitest'
import { checkRoute, isPrettyRequest, negotiate, parseIncludeObject, type RequestedContent } from './negotiation.ts'
import { StatusError } from './status.ts'

const table = 'application/json;as=Table;v=v1;g=meta.k8s.io'
const kubectlGet = `${table},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json`
const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const protobuf = 'application/vnd.kubernetes.protobuf'

function failure(action: () => unknown): unknown {
  try {
    action()
  } catch (error) {
    if (error instanceof StatusError) return error.toStatus()
    throw error
  }
  return undefined
}

describe('finds', () => {
  const cases: ReadonlyArray<readonly [accept: string | undefined, subject: RequestedContent, form: string]> = [
    [undefined, 'object', 'json'],
    ['', 'list', 'json'],
    ['*/*', 'object', 'json'],
    ['*', 'object', 'json'],
    ['application/*', 'object', 'json'],
    ['application/yaml', 'object', 'yaml'],
    ['application/yaml, application/json', 'object', 'yaml'],
    ['application/yaml;q=0.5, application/json', 'object', 'json'],
    ['text/html;q=0.9, */*;q=0.1', 'list', 'json'],
    ['*/*;q=0', 'list', 'json'],
    [`${protobuf}, application/json`, 'object', 'json'],
    [`${protobuf};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json`, 'object', 'json'],
    [kubectlGet, 'list', 'json Table v1'],
    [kubectlGet, 'object', 'json Table v1'],
    [kubectlGet, 'watch', 'json Table v1'],
    [kubectlGet, 'plain', 'json'],
    ['application/json;as=Table;v=v1beta1;g=meta.k8s.io', 'list', 'json Table v1beta1'],
    [`${table};q=0.1,application/yaml`, 'list', 'yaml'],
    ['application/yaml;as=Table;v=v1;g=meta.k8s.io', 'list', 'yaml Table v1'],
    ['*/*;as=Table;v=v1;g=meta.k8s.io', 'list', 'json Table v1'],
    ['application/json;as=Unknown;v=v1;g=meta.k8s.io, application/json', 'object', 'json'],
    ['application/json;as=Table;v=v2;g=meta.k8s.io, application/json', 'object', 'json'],
    ['application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1', 'list', 'json PartialObjectMetadataList v1'],
    ['application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1', 'watch', 'json PartialObjectMetadata v1'],
    ['application/json;stream=watch', 'watch', 'json'],
    ['application/json;sv=v1', 'object', 'json'],
    [aggregated, 'discovery', 'json APIGroupDiscoveryList v2'],
    [`application/json,${aggregated}`, 'discovery', 'json APIGroupDiscoveryList v2'],
    [`${aggregated.replace('v2', 'v2beta1')},application/json`, 'discovery', 'json'],
    ['application/json', 'discovery', 'json'],
  ]
  test.each(cases)('%s for %s: %s', (accept, subject, expected) => {
    const { format, as, version } = negotiate(accept, subject)
    expect([format, as, version].filter(Boolean).join(' ')).toBe(expected)
  })

  test('the content type', () => {
    expect(negotiate(kubectlGet, 'list').contentType).toBe('application/json')
    expect(negotiate('application/yaml', 'list').contentType).toBe('application/yaml')
    expect(negotiate(aggregated, 'discovery').contentType).toBe(aggregated)
  })

  test('who wants it indented', () => {
    expect(negotiate('application/json;pretty=1', 'object').isPretty).toBe(true)
    expect(negotiate('application/json', 'object').isPretty).toBe(false)
    expect(isPrettyRequest(undefined, 'curl/8.0')).toBe(true)
    expect(isPrettyRequest('false', 'curl/8.0')).toBe(false)
    expect(isPrettyRequest('true', 'kubectl')).toBe(true)
    expect(isPrettyRequest(null, undefined)).toBe(false)
  })
})

describe('refuses', () => {
  const types = `application/json, application/yaml, ${protobuf}`
  const refusals: ReadonlyArray<readonly [accept: string, subject: RequestedContent]> = [
    ['text/html', 'object'],
    ['application', 'object'],
    [protobuf, 'object'],
    ['application/cbor', 'list'],
    [table, 'plain'],
    [aggregated, 'plain'],
    [aggregated.replace('v2', 'v2beta1'), 'discovery'],
    ['application/json;v=v1', 'object'],
    ['application/json;stream=other', 'watch'],
    ['application/json;sv=v2', 'object'],
    ['application/json;sv=v1', 'discovery'],
  ]
  test.each(refusals)('%s for %s', (accept, subject) => {
    expect(failure(() => negotiate(accept, subject))).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: `only the following media types are accepted: ${types}`,
      reason: 'NotAcceptable',
      code: 406,
    })
  })

  test('watches in YAML, naming the streams that there are', () => {
    expect(failure(() => negotiate('application/yaml', 'watch'))).toMatchObject({
      message: `only the following media types are accepted: application/json;stream=watch, ${protobuf};stream=watch`,
    })
  })

  test('at the route of a built-in kind what the route does not know', () => {
    const representations = `406: Not Acceptable\n\nAvailable representations: ${types}`
    const streams = `, application/json;stream=watch, ${protobuf};stream=watch`
    expect(failure(() => checkRoute('text/html', 'object'))).toMatchObject({
      message: representations,
      reason: 'NotAcceptable',
      details: {},
      code: 406,
    })
    expect(failure(() => checkRoute('application/*', 'list'))).toMatchObject({ message: representations + streams })
    for (const accept of [undefined, '*/*', kubectlGet, `text/html, ${protobuf}`, 'application/json;v=v1']) {
      expect(failure(() => checkRoute(accept, 'object'))).toBeUndefined()
    }
  })

  test('to include what there is not', () => {
    expect(parseIncludeObject(null)).toBe('Metadata')
    expect(parseIncludeObject('Object')).toBe('Object')
    expect(failure(() => parseIncludeObject('x'))).toMatchObject({
      code: 400,
      message:
        "Unable to convert to Table as requested: includeObject: Invalid value: \"x\": must be 'Metadata', 'Object', 'None', or empty",
    })
  })
})
