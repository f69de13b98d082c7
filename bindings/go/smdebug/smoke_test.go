package smdebug_test
import ("testing";"context"; . "github.com/libsmdebug/libsmdebug/bindings/go/smdebug")
func TestSmoke(t *testing.T){
 d:=t.TempDir()+"/run"
 h,err:=NewHook(d,HookOptions{SaveAll:true,SaveConfig:SaveEvery(1)})
 if err!=nil{t.Fatal(err)}
 for i:=0;i<3;i++{ if err:=h.Step(Train,func(int64)error{return h.Save("x",ViewOf([]float32{1,2,3,4},2,2))});err!=nil{t.Fatal(err)} }
 if err:=h.Close();err!=nil{t.Fatal(err)}
 tr,err:=OpenTrial(context.Background(),d,TrialOptions{})
 if err!=nil{t.Fatal(err)}
 t.Log(tr.Steps(Train)); t.Log(tr.TensorNames())
 x,err:=tr.Tensor("x"); if err!=nil{t.Fatal(err)}
 v,err:=x.Value(1,Train); if err!=nil{t.Fatal(err)}
 t.Log(v.Float32s()); t.Log(v.Shape()); t.Log(v.Float64s()); t.Log(v.Reduce("abs_mean"))
 _,err=x.Value(7,Train); t.Log(err)
 _,err=x.Value(1,Eval); t.Log(err)
 _,err=NewHook(d,HookOptions{}); t.Log(err)
 _,err=tr.Tensor("y"); t.Log(err)
}
func BenchmarkSave16Floats(b *testing.B){
 h,err:=NewHook(b.TempDir()+"/run",HookOptions{SaveAll:true,SaveConfig:SaveEvery(1)})
 if err!=nil{b.Fatal(err)}
 defer h.Close()
 x:=make([]float32,16)
 b.ReportAllocs()
 h.BeginStep()
 n:=0
 for b.Loop(){ if err:=h.Save("x",ViewOf(x,4,4));err!=nil{b.Fatal(err)}; if n++; n==1000 { b.StopTimer(); h.EndStep(); h.Flush(context.Background()); h.BeginStep(); n=0; b.StartTimer()} }
}
