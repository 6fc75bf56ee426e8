// The Go types of the resource, with the deep-copy functions that controller-gen would generate.
package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type Gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GadgetSpec   `json:"spec,omitempty"`
	Status            GadgetStatus `json:"status,omitempty"`
}

type GadgetSpec struct {
	Size int32 `json:"size"`
}

type GadgetStatus struct {
	Observed int32 `json:"observed,omitempty"`
}

type GadgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Gadget `json:"items"`
}

func (in *Gadget) DeepCopyObject() runtime.Object {
	out := &Gadget{TypeMeta: in.TypeMeta, Spec: in.Spec, Status: in.Status}
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return out
}

func (in *GadgetList) DeepCopyObject() runtime.Object {
	out := &GadgetList{TypeMeta: in.TypeMeta}
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	for index := range in.Items {
		out.Items = append(out.Items, *in.Items[index].DeepCopyObject().(*Gadget))
	}
	return out
}

func addToScheme(scheme *runtime.Scheme, group string) error {
	version := schema.GroupVersion{Group: group, Version: "v1"}
	scheme.AddKnownTypes(version, &Gadget{}, &GadgetList{})
	metav1.AddToGroupVersion(scheme, version)
	return nil
}
