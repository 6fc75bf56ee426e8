/** Objects with types that have a special encoding in protobuf. record-protobuf.ts reads each in both encodings. */
export interface StoredCase {
  /** The path of the collection. */
  readonly path: string
  /** Without a name, the object is a review: it is not stored, and only the response to the POST contains it. */
  readonly body: Readonly<Record<string, unknown>>
}

const schema = {
  type: 'object',
  description: 'Everything a schema can be',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      'x-kubernetes-validations': [
        { rule: 'oldSelf.hasValue() || self.size >= 0', message: 'too small', optionalOldSelf: true },
      ],
      properties: {
        size: { type: 'integer', format: 'int32', minimum: 0, maximum: 10, default: 3, multipleOf: 1 },
        colour: {
          type: 'string',
          enum: ['red', 'grün'],
          default: 'red',
          nullable: true,
          maxLength: 10,
          pattern: '^.*$',
        },
        ratio: { type: 'number', minimum: 0.25, maximum: 1e21 },
        port: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
        list: {
          type: 'array',
          maxItems: 5,
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
        },
        map: { type: 'object', additionalProperties: { type: 'string' } },
        open: { type: 'object', additionalProperties: true },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, default: { a: [1, null, 'b'] } },
        embedded: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-preserve-unknown-fields': true,
        },
      },
    },
  },
}

const client = { service: { namespace: 'default', name: 'hooks', path: '/convert', port: 443 } }

const definition = {
  metadata: { name: 'things.example.com' },
  spec: {
    group: 'example.com',
    names: { plural: 'things', kind: 'Thing', shortNames: ['th'], categories: ['all'] },
    scope: 'Namespaced',
    conversion: { strategy: 'Webhook', webhook: { clientConfig: client, conversionReviewVersions: ['v1'] } },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: schema },
        subresources: { status: {}, scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' } },
        additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size', priority: 1 }],
        selectableFields: [{ jsonPath: '.spec.colour' }],
      },
    ],
  },
}

const container = {
  name: 'main',
  image: 'nginx',
  env: [
    { name: 'A', value: '' },
    { name: 'B', valueFrom: { configMapKeyRef: { name: 'words', key: 'b', optional: false } } },
  ],
  envFrom: [{ prefix: 'P_', secretRef: { name: 'words' } }],
  ports: [{ name: 'http', containerPort: 80 }],
  resources: { requests: { cpu: '0.5', memory: '64Mi' }, limits: { cpu: 1 } },
  readinessProbe: { httpGet: { port: 'http', path: '/' }, periodSeconds: 3 },
  livenessProbe: { tcpSocket: { port: 80 } },
  lifecycle: { preStop: { exec: { command: ['true'] } } },
  volumeMounts: [{ name: 'words', mountPath: '/words', readOnly: true }],
  securityContext: { runAsUser: 0, privileged: false },
}

const pod = {
  metadata: {
    name: 'full',
    labels: { constructor: 'x' },
    annotations: { 'example.com/empty': '' },
    finalizers: ['example.com/stay'],
    ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'gone', uid: '9b36368e-a084-4c84-8666-ccd311317afc' }],
  },
  spec: {
    containers: [container],
    volumes: [
      { name: 'words', configMap: { name: 'words', defaultMode: 256, items: [{ key: 'a', path: 'a' }] } },
      { name: 'empty', emptyDir: { sizeLimit: '1.5Gi' } },
      { name: 'all', projected: { sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 3600 } }] } },
    ],
    securityContext: { fsGroup: 1, sysctls: [] },
    tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 0 }],
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{}] } } },
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {} },
    ],
  },
}

const times = { acquireTime: '2026-01-02T03:04:05.000006Z', renewTime: '1969-12-31T23:59:59.900000Z' }

export const storedCases: readonly StoredCase[] = [
  { path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', body: definition },
  { path: '/api/v1/namespaces/default/pods', body: pod },
  {
    path: '/apis/coordination.k8s.io/v1/namespaces/default/leases',
    body: {
      metadata: { name: 'full' },
      spec: { holderIdentity: '', leaseDurationSeconds: 15, leaseTransitions: 0, ...times },
    },
  },
  {
    path: '/apis/apps/v1/namespaces/default/controllerrevisions',
    body: {
      metadata: { name: 'full' },
      revision: 9007199254740991,
      data: { kind: 'Any', deep: [{ a: null }, 1.5, 'ü'] },
    },
  },
  {
    path: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
    body: {
      metadata: { name: 'full' },
      webhooks: [
        {
          name: 'a.example.com',
          clientConfig: { url: 'https://example.com/', caBundle: '' },
          rules: [{ operations: ['*'], apiGroups: ['example.com'], apiVersions: ['v1'], resources: ['things/status'] }],
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          timeoutSeconds: 5,
          matchConditions: [{ name: 'some', expression: 'true' }],
          namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] },
        },
      ],
    },
  },
  {
    path: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
    body: {
      metadata: { name: 'full' },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: false }, targetRef: { kind: 'Pod', name: 'full' } }],
      ports: [{ name: '', port: 80, protocol: 'TCP' }],
    },
  },
  {
    path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    body: {
      spec: {
        user: 'ann',
        groups: ['a'],
        extra: { scopes: ['x', 'y'] },
        nonResourceAttributes: { path: '/', verb: 'get' },
      },
    },
  },
]
