//! The messages of onnx.proto beside this file, as prost 0.14 reads them.
//!
//! Generated; not to be changed by hand. To make it anew, in a crate of its own with prost-build 0.14 and any protoc
//! 3.15 or later: `prost_build::Config::new().bytes(["."]).compile_protos(&["onnx.proto"], &["."])`, then put this
//! head in front again. `bytes` fields are slices of the file's bytes: weights are not copied.
#![allow(clippy::pedantic, clippy::enum_variant_names)] // made by a program

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Model {
    #[prost(int64, optional, tag = "1")]
    pub ir_version: ::core::option::Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub producer_name: ::core::option::Option<::prost::alloc::string::String>,
    #[prost(string, optional, tag = "3")]
    pub producer_version: ::core::option::Option<::prost::alloc::string::String>,
    #[prost(message, optional, tag = "7")]
    pub graph: ::core::option::Option<Graph>,
    #[prost(message, repeated, tag = "8")]
    pub opset_import: ::prost::alloc::vec::Vec<OperatorSet>,
    #[prost(message, repeated, tag = "14")]
    pub metadata_props: ::prost::alloc::vec::Vec<Entry>,
    #[prost(message, repeated, tag = "25")]
    pub functions: ::prost::alloc::vec::Vec<Function>,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct OperatorSet {
    #[prost(string, optional, tag = "1")]
    pub domain: ::core::option::Option<::prost::alloc::string::String>,
    #[prost(int64, optional, tag = "2")]
    pub version: ::core::option::Option<i64>,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct Entry {
    #[prost(string, optional, tag = "1")]
    pub key: ::core::option::Option<::prost::alloc::string::String>,
    #[prost(string, optional, tag = "2")]
    pub value: ::core::option::Option<::prost::alloc::string::String>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Graph {
    #[prost(message, repeated, tag = "1")]
    pub node: ::prost::alloc::vec::Vec<Node>,
    #[prost(string, optional, tag = "2")]
    pub name: ::core::option::Option<::prost::alloc::string::String>,
    #[prost(message, repeated, tag = "5")]
    pub initializer: ::prost::alloc::vec::Vec<Tensor>,
    #[prost(message, repeated, tag = "11")]
    pub input: ::prost::alloc::vec::Vec<ValueInfo>,
    #[prost(message, repeated, tag = "12")]
    pub output: ::prost::alloc::vec::Vec<ValueInfo>,
    /// Never read, only refused.
    #[prost(message, repeated, tag = "15")]
    pub sparse_initializer: ::prost::alloc::vec::Vec<Skipped>,
}
#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct Skipped {}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Node {
    #[prost(string, repeated, tag = "1")]
    pub input: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    #[prost(string, repeated, tag = "2")]
    pub output: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    #[prost(string, optional, tag = "3")]
    pub name: ::core::option::Option<::prost::alloc::string::String>,
    #[prost(string, optional, tag = "4")]
    pub op_type: ::core::option::Option<::prost::alloc::string::String>,
    #[prost(message, repeated, tag = "5")]
    pub attribute: ::prost::alloc::vec::Vec<Attribute>,
    #[prost(string, optional, tag = "7")]
    pub domain: ::core::option::Option<::prost::alloc::string::String>,
    #[prost(string, optional, tag = "8")]
    pub overload: ::core::option::Option<::prost::alloc::string::String>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Attribute {
    #[prost(string, optional, tag = "1")]
    pub name: ::core::option::Option<::prost::alloc::string::String>,
    #[prost(float, optional, tag = "2")]
    pub f: ::core::option::Option<f32>,
    #[prost(int64, optional, tag = "3")]
    pub i: ::core::option::Option<i64>,
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub s: ::core::option::Option<::prost::bytes::Bytes>,
    #[prost(message, optional, tag = "5")]
    pub t: ::core::option::Option<Tensor>,
    #[prost(message, optional, tag = "6")]
    pub g: ::core::option::Option<Skipped>,
    #[prost(float, repeated, packed = "false", tag = "7")]
    pub floats: ::prost::alloc::vec::Vec<f32>,
    #[prost(int64, repeated, packed = "false", tag = "8")]
    pub ints: ::prost::alloc::vec::Vec<i64>,
    #[prost(bytes = "bytes", repeated, tag = "9")]
    pub strings: ::prost::alloc::vec::Vec<::prost::bytes::Bytes>,
    #[prost(message, repeated, tag = "10")]
    pub tensors: ::prost::alloc::vec::Vec<Tensor>,
    #[prost(message, repeated, tag = "11")]
    pub graphs: ::prost::alloc::vec::Vec<Skipped>,
    #[prost(int32, optional, tag = "20")]
    pub r#type: ::core::option::Option<i32>,
    #[prost(string, optional, tag = "21")]
    pub ref_attr_name: ::core::option::Option<::prost::alloc::string::String>,
    #[prost(message, optional, tag = "22")]
    pub sparse_tensor: ::core::option::Option<Skipped>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Function {
    #[prost(string, optional, tag = "1")]
    pub name: ::core::option::Option<::prost::alloc::string::String>,
    #[prost(string, repeated, tag = "4")]
    pub input: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    #[prost(string, repeated, tag = "5")]
    pub output: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    #[prost(string, repeated, tag = "6")]
    pub attribute: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    #[prost(message, repeated, tag = "7")]
    pub node: ::prost::alloc::vec::Vec<Node>,
    #[prost(message, repeated, tag = "9")]
    pub opset_import: ::prost::alloc::vec::Vec<OperatorSet>,
    #[prost(string, optional, tag = "10")]
    pub domain: ::core::option::Option<::prost::alloc::string::String>,
    #[prost(message, repeated, tag = "11")]
    pub attribute_proto: ::prost::alloc::vec::Vec<Attribute>,
    #[prost(string, optional, tag = "13")]
    pub overload: ::core::option::Option<::prost::alloc::string::String>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Tensor {
    #[prost(int64, repeated, packed = "false", tag = "1")]
    pub dims: ::prost::alloc::vec::Vec<i64>,
    #[prost(int32, optional, tag = "2")]
    pub data_type: ::core::option::Option<i32>,
    #[prost(message, optional, tag = "3")]
    pub segment: ::core::option::Option<tensor::Segment>,
    #[prost(float, repeated, tag = "4")]
    pub float_data: ::prost::alloc::vec::Vec<f32>,
    #[prost(int32, repeated, tag = "5")]
    pub int32_data: ::prost::alloc::vec::Vec<i32>,
    #[prost(bytes = "bytes", repeated, tag = "6")]
    pub string_data: ::prost::alloc::vec::Vec<::prost::bytes::Bytes>,
    #[prost(int64, repeated, tag = "7")]
    pub int64_data: ::prost::alloc::vec::Vec<i64>,
    #[prost(string, optional, tag = "8")]
    pub name: ::core::option::Option<::prost::alloc::string::String>,
    #[prost(bytes = "bytes", optional, tag = "9")]
    pub raw_data: ::core::option::Option<::prost::bytes::Bytes>,
    #[prost(double, repeated, tag = "10")]
    pub double_data: ::prost::alloc::vec::Vec<f64>,
    #[prost(uint64, repeated, tag = "11")]
    pub uint64_data: ::prost::alloc::vec::Vec<u64>,
    #[prost(message, repeated, tag = "13")]
    pub external_data: ::prost::alloc::vec::Vec<Entry>,
    #[prost(int32, optional, tag = "14")]
    pub data_location: ::core::option::Option<i32>,
}
/// Nested message and enum types in `Tensor`.
pub mod tensor {
    #[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct Segment {
        #[prost(int64, optional, tag = "1")]
        pub begin: ::core::option::Option<i64>,
        #[prost(int64, optional, tag = "2")]
        pub end: ::core::option::Option<i64>,
    }
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ValueInfo {
    #[prost(string, optional, tag = "1")]
    pub name: ::core::option::Option<::prost::alloc::string::String>,
    #[prost(message, optional, tag = "2")]
    pub r#type: ::core::option::Option<Type>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Type {
    #[prost(oneof = "r#type::Value", tags = "1, 4, 5, 8, 9")]
    pub value: ::core::option::Option<r#type::Value>,
}
/// Nested message and enum types in `Type`.
pub mod r#type {
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct OfTensor {
        #[prost(int32, optional, tag = "1")]
        pub elem_type: ::core::option::Option<i32>,
        #[prost(message, optional, tag = "2")]
        pub shape: ::core::option::Option<super::Shape>,
    }
    /// What a map's values are, as far as they are tensors.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct OfValue {
        #[prost(message, optional, tag = "1")]
        pub tensor_type: ::core::option::Option<OfTensor>,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct OfMap {
        #[prost(int32, optional, tag = "1")]
        pub key_type: ::core::option::Option<i32>,
        #[prost(message, optional, tag = "2")]
        pub value_type: ::core::option::Option<OfValue>,
    }
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Value {
        #[prost(message, tag = "1")]
        TensorType(OfTensor),
        #[prost(message, tag = "4")]
        SequenceType(super::Skipped),
        #[prost(message, tag = "5")]
        MapType(OfMap),
        #[prost(message, tag = "8")]
        SparseTensorType(super::Skipped),
        #[prost(message, tag = "9")]
        OptionalType(super::Skipped),
    }
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Shape {
    #[prost(message, repeated, tag = "1")]
    pub dim: ::prost::alloc::vec::Vec<shape::Dimension>,
}
/// Nested message and enum types in `Shape`.
pub mod shape {
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct Dimension {
        #[prost(oneof = "dimension::Value", tags = "1, 2")]
        pub value: ::core::option::Option<dimension::Value>,
    }
    /// Nested message and enum types in `Dimension`.
    pub mod dimension {
        #[derive(Clone, PartialEq, Eq, Hash, ::prost::Oneof)]
        pub enum Value {
            #[prost(int64, tag = "1")]
            DimValue(i64),
            #[prost(string, tag = "2")]
            DimParam(::prost::alloc::string::String),
        }
    }
}
