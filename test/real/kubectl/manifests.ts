/** What the sessions create: file names and their text. `gadgets.example.com` is defined before them. */

export const definition: string = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadgets.kubectl.example.com
spec:
  group: kubectl.example.com
  scope: Namespaced
  names: { plural: gadgets, singular: gadget, kind: Gadget, shortNames: [gd], categories: [toys] }
  versions:
    - name: v1
      served: true
      storage: true
      subresources:
        status: {}
        scale: { specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas }
      additionalPrinterColumns:
        - { name: Size, type: integer, jsonPath: .spec.size }
        - { name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status' }
        - { name: Colour, type: string, jsonPath: .spec.colour, priority: 1 }
        - { name: Age, type: date, jsonPath: .metadata.creationTimestamp }
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              required: [size]
              properties:
                size: { type: integer, minimum: 1 }
                colour: { type: string, default: red }
                replicas: { type: integer }
            status:
              type: object
              x-kubernetes-preserve-unknown-fields: true
`

const gadget = (name: string, rest: string) => `
apiVersion: kubectl.example.com/v1
kind: Gadget
metadata: { name: ${name}, labels: { app: gadgets } }
${rest}
`

export const manifests: Readonly<Record<string, string>> = {
  'gadget.yaml': gadget('one', 'spec: { size: 1, replicas: 1 }'),
  'gadgets.yaml': [gadget('one', 'spec: { size: 1 }'), gadget('two', 'spec: { size: 2, colour: blue }')].join('---'),
  'bigger.yaml': gadget('one', 'spec: { size: 5, replicas: 1 }'),
  'invalid.yaml': gadget('invalid', 'spec: { size: 0 }'),
  'incomplete.yaml': gadget('incomplete', 'spec: {}'),
  'unknown.yaml': gadget('unknown', 'spec: { size: 1, nonsense: true }'),
  'mistyped.yaml': gadget('mistyped', 'spec: { size: large }'),
  'held.yaml': `
apiVersion: v1
kind: ConfigMap
metadata: { name: held, finalizers: [example.com/keep] }
`,
  'config.yaml': `
apiVersion: v1
kind: ConfigMap
metadata: { name: config, labels: { app: x, tier: front } }
data: { key: value, other: "2" }
`,
  'other-config.yaml': `
apiVersion: v1
kind: ConfigMap
metadata: { name: config, labels: { tier: back } }
data: { key: other, more: "1" }
`,
  'less-config.yaml': `
apiVersion: v1
kind: ConfigMap
metadata: { name: config }
data: { key: value }
`,
  'other-deployment.yaml': `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 3
  template:
    spec:
      containers:
        - { name: main, env: [{ name: A, value: c }, { name: D, value: e }] }
        - { name: second, image: nginx:2 }
`,
  'strict.yaml': `
apiVersion: v1
kind: ConfigMap
metadata: { name: strict, nonsense: 1 }
datum: {}
`,
  'wrong-name.yaml': `
apiVersion: v1
kind: ConfigMap
metadata: { name: Wrong_Name }
`,
  'no-kind.yaml': 'apiVersion: v1\nmetadata: { name: x }\n',
  'deployment.yaml': `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      containers:
        - { name: main, image: nginx:1, ports: [{ containerPort: 80 }], env: [{ name: A, value: b }] }
`,
  'bad-deployment.yaml': `
apiVersion: apps/v1
kind: Deployment
metadata: { name: bad }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: other } }
    spec: { containers: [{ name: main }] }
`,
  'list.yaml': `
apiVersion: v1
kind: List
items:
  - { apiVersion: v1, kind: ConfigMap, metadata: { name: listed-1 } }
  - { apiVersion: v1, kind: Secret, metadata: { name: listed-2 }, stringData: { a: b } }
`,
}
