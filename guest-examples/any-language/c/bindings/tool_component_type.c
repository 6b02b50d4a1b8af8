// Takes the place of tool_component_type.o, in which wit-bindgen records the world: `toolhost component`
// needs no record.
void __component_type_object_force_link_tool(void) {}
