"""Prints, as JSON, the messages and the calls that the installed dm-reverb speaks, from the descriptors in its wheel."""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

from google.protobuf import descriptor_pb2  # noqa: E402
import reverb  # noqa: E402
from reverb.cc import schema_pb2  # noqa: E402
from reverb.cc.checkpointing import checkpoint_pb2  # noqa: E402

import tensorflow as tf  # noqa: E402,F401
from tensorflow.core.protobuf import struct_pb2  # noqa: E402


def service_file():
    """The service's description stands as bytes in a shared library: no Python module has it."""
    library = pathlib.Path(reverb.__file__).parent / "libreverb_service_cc_proto.so"
    data = library.read_bytes()
    name = b"reverb/cc/reverb_service.proto"
    begin = data.index(b"\n" + bytes([len(name)]) + name)
    for size in range(len(name), 20_000):
        file = descriptor_pb2.FileDescriptorProto()
        try:
            file.ParseFromString(data[begin : begin + size])
        except Exception:
            continue
        if file.syntax:
            return file
    raise RuntimeError("the service's description was not found")


messages, enums, methods = {}, {}, {}


def add_enum(prefix, enum):
    enums[f"{prefix}.{enum.name}"] = {value.name: value.number for value in enum.value}


def add_message(prefix, message):
    name = f"{prefix}.{message.name}"
    fields = {}
    for field in message.field:
        oneof = field.HasField("oneof_index") and not field.proto3_optional
        fields[field.name] = {
            "number": field.number,
            "type": field.type,
            "repeated": field.label == 3,
            "typeName": field.type_name.lstrip("."),
            "oneof": message.oneof_decl[field.oneof_index].name if oneof else "",
            "deprecated": field.options.deprecated,
        }
    messages[name] = fields
    for nested in message.nested_type:
        add_message(name, nested)
    for enum in message.enum_type:
        add_enum(name, enum)


def add_file(file):
    for message in file.message_type:
        add_message(file.package, message)
    for enum in file.enum_type:
        add_enum(file.package, enum)
    for service in file.service:
        for method in service.method:
            methods[f"{file.package}.{service.name}/{method.name}"] = {
                "input": method.input_type.lstrip("."),
                "output": method.output_type.lstrip("."),
                "clientStreaming": method.client_streaming,
                "serverStreaming": method.server_streaming,
            }


seen = set()


def add_with_imports(file):
    if file.name in seen:
        return
    seen.add(file.name)
    proto = descriptor_pb2.FileDescriptorProto()
    file.CopyToProto(proto)
    add_file(proto)
    for imported in file.dependencies:
        add_with_imports(imported)


add_file(service_file())
for module in (schema_pb2, checkpoint_pb2, struct_pb2):
    add_with_imports(module.DESCRIPTOR)
json.dump({"messages": messages, "enums": enums, "methods": methods}, sys.stdout)
